//! The server inside the process answers single commands as Redis does: random ones on few keys, with every option that a
//! script or the line sends.

use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    strategy::ValueTree,
    test_runner::{Config, RngSeed, TestRunner},
};
use redis::{Cmd, Value, aio::ConnectionLike};
use vestibule_tests::lines::{Backend, RawLink, fresh_queue};

use crate::replay::sort_pairs;

const SEQUENCES: usize = 400;
const COMMANDS_MAX: usize = 120;

/// A command without the part of its key that names the test.
type Words = Vec<String>;

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

/// A few keys of each type, so that some commands meet a key of another type.
fn key() -> impl Strategy<Value = String> {
    one_of(&["KEY:a", "KEY:b", "KEY:c", "KEY:d", "KEY:e"])
}

fn member() -> impl Strategy<Value = String> {
    one_of(&["a", "b", "c", "d", "e", "f", "bb", "", "a\u{0}", "ü"])
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-6_i64..12).prop_map(|number| number.to_string()),
        1 => one_of(&["1795260581079001", "9007199254740991", "0.5", "-2.5", "1e3", "text", ""]),
    ]
}

fn score() -> impl Strategy<Value = String> {
    prop_oneof![6 => number(), 1 => one_of(&["inf", "+inf", "-inf", "nan"])]
}

fn bound() -> impl Strategy<Value = String> {
    prop_oneof![3 => score(), 1 => score().prop_map(|score| format!("({score}"))]
}

fn words(parts: Vec<BoxedStrategy<Words>>) -> BoxedStrategy<Words> {
    parts.prop_map(|parts| parts.concat()).boxed()
}

fn word(text: impl Strategy<Value = String> + 'static) -> BoxedStrategy<Words> {
    text.prop_map(|text| vec![text]).boxed()
}

fn name(text: &'static str) -> BoxedStrategy<Words> {
    Just(vec![text.to_owned()]).boxed()
}

fn many(text: impl Strategy<Value = String> + 'static) -> BoxedStrategy<Words> {
    vec(text, 0..4).boxed()
}

fn pairs(
    first: impl Strategy<Value = String> + 'static,
    second: impl Strategy<Value = String> + 'static,
) -> BoxedStrategy<Words> {
    vec((first, second), 1..4)
        .prop_map(|pairs| {
            pairs
                .into_iter()
                .flat_map(|(first, second)| [first, second])
                .collect()
        })
        .boxed()
}

/// These words, or none.
fn options(options: &'static [&'static str]) -> BoxedStrategy<Words> {
    any::<bool>()
        .prop_map(|are_there| {
            options
                .iter()
                .filter(|_| are_there)
                .map(|word| (*word).to_owned())
                .collect()
        })
        .boxed()
}

fn limit() -> BoxedStrategy<Words> {
    let limit = (-2_i64..4, -2_i64..4);
    let limit =
        limit.prop_map(|(offset, count)| vec!["LIMIT".to_owned(), offset.to_string(), count.to_string()]);
    prop_oneof![1 => limit, 1 => Just(Vec::new())].boxed()
}

fn command() -> impl Strategy<Value = Words> {
    let time = || one_of(&["100000", "0", "-5", "text"]);
    let on_texts = prop_oneof![
        words(vec![name("GET"), word(key())]),
        words(vec![
            name("SET"),
            word(key()),
            word(number()),
            options(&["PX", "100000"])
        ]),
        words(vec![name("EXISTS"), word(key()), many(key())]),
        words(vec![name("UNLINK"), word(key()), many(key())]),
        words(vec![name("DEL"), word(key())]),
        words(vec![name("RENAME"), word(key()), word(key())]),
        words(vec![name("PERSIST"), word(key())]),
        words(vec![name("EXPIRE"), word(key()), word(time())]),
        words(vec![name("PEXPIRE"), word(key()), word(time())]),
    ];
    let on_hashes = prop_oneof![
        3 => words(vec![name("HSET"), word(key()), pairs(member(), number())]),
        1 => words(vec![name("HINCRBY"), word(key()), word(member()), word(number())]),
        1 => words(vec![name("HGET"), word(key()), word(member())]),
        1 => words(vec![name("HMGET"), word(key()), word(member()), many(member())]),
        1 => words(vec![name("HEXISTS"), word(key()), word(member())]),
        1 => words(vec![name("HDEL"), word(key()), word(member()), many(member())]),
        1 => words(vec![name("HLEN"), word(key())]),
        1 => words(vec![name("HGETALL"), word(key())]),
        1 => words(vec![name("HSCAN"), word(key()), name("0"), options(&["COUNT", "1000"])]),
    ];
    let on_sorted_sets = prop_oneof![
        6 => words(vec![name("ZADD"), word(key()), options(&["NX"]), pairs(score(), member())]),
        2 => words(vec![name("ZADD"), word(key()), options(&["GT"]), pairs(score(), member())]),
        1 => words(vec![name("ZCARD"), word(key())]),
        2 => words(vec![name("ZCOUNT"), word(key()), word(bound()), word(bound())]),
        1 => words(vec![name("ZSCORE"), word(key()), word(member())]),
        1 => words(vec![name("ZMSCORE"), word(key()), word(member()), many(member())]),
        1 => words(vec![name("ZRANK"), word(key()), word(member())]),
        2 => words(vec![name("ZRANGE"), word(key()), word(number()), word(number()), options(&["WITHSCORES"])]),
        2 => words(vec![name("ZREVRANGE"), word(key()), word(number()), word(number()), options(&["WITHSCORES"])]),
        3 => words(vec![name("ZRANGEBYSCORE"), word(key()), word(bound()), word(bound()), options(&["WITHSCORES"]), limit()]),
        2 => words(vec![name("ZREVRANGEBYSCORE"), word(key()), word(bound()), word(bound()), options(&["WITHSCORES"]), limit()]),
        1 => words(vec![name("ZREM"), word(key()), word(member()), many(member())]),
        1 => words(vec![name("ZREMRANGEBYRANK"), word(key()), word(number()), word(number())]),
        1 => words(vec![name("ZREMRANGEBYSCORE"), word(key()), word(bound()), word(bound())]),
        1 => words(vec![name("ZSCAN"), word(key()), name("0"), options(&["COUNT", "1000"])]),
    ];
    // The server chooses the ids of records, so ids come from the tests of streams.
    let on_streams = prop_oneof![
        words(vec![
            name("XADD"),
            word(key()),
            name("*"),
            pairs(member(), number())
        ]),
        words(vec![name("XLEN"), word(key())]),
        words(vec![name("XDEL"), word(key()), word(one_of(&["1-1", "text"]))]),
        words(vec![
            name("XRANGE"),
            word(key()),
            word(one_of(&["1-1", "text", "+"])),
            word(one_of(&["2-1", "2", "-"]))
        ]),
    ];
    let malformed = prop_oneof![
        words(vec![
            word(one_of(&["HGET", "ZADD", "XADD", "ZRANK", "SET", "XRANGE"])),
            many(key())
        ]),
        words(vec![name("ZRANK"), word(key()), word(member()), name("TEXT")]),
    ];
    prop_oneof![2 => on_texts, 3 => on_hashes, 6 => on_sorted_sets, 1 => on_streams, 1 => malformed]
}

fn to_command(words: &Words, prefix: &str) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        match word.strip_prefix("KEY") {
            Some(name) => command.arg(format!("{prefix}{name}")),
            None => command.arg(word),
        };
    }
    command
}

/// The answer, or `None` if the command is refused: of several reasons, each server names the one that it meets first. The
/// order of a hash is the server's own, and the id of a record is its time.
async fn answer(link: &mut RawLink, words: &Words, prefix: &str) -> Option<Value> {
    let answer = link.req_packed_command(&to_command(words, prefix)).await.ok()?;
    Some(match (words[0].as_str(), answer.extract_error().ok()?) {
        ("HGETALL", Value::Array(fields)) => sort_pairs(&fields),
        ("HSCAN" | "ZSCAN", Value::Array(mut page)) => {
            if let Some(Value::Array(names)) = page.pop() {
                page.push(sort_pairs(&names));
            }
            Value::Array(page)
        }
        ("XADD", Value::BulkString(_)) => Value::Okay,
        (_, answer) => answer,
    })
}

#[tokio::test]
async fn embedded_and_redis_answer_commands_alike() {
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(2_026),
        ..Config::default()
    });
    let sequence = vec(command(), 1..COMMANDS_MAX);
    let mut different = Vec::new();
    for _ in 0..SEQUENCES {
        let queue = fresh_queue();
        let prefix = format!("vestibule:{{{queue}}}");
        let mut embedded = Backend::Embedded.raw_link(&queue).await;
        let mut redis = Backend::Redis.raw_link(&queue).await;
        for words in sequence.new_tree(&mut runner).expect("a sequence").current() {
            let expected = answer(&mut redis, &words, &prefix).await;
            let found = answer(&mut embedded, &words, &prefix).await;
            if found != expected {
                different.push(format!(
                    "{words:?}\n  Redis:    {expected:?}\n  embedded: {found:?}"
                ));
                break;
            }
        }
    }
    different.sort();
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}
