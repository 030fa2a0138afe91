//! The server inside the process runs a script as Redis and Valkey do: what it allows, what it refuses, and how values pass
//! between the script, the commands and the caller.

use redis::{Value, aio::ConnectionLike};
use vestibule_tests::lines::{Backend, RawLink, fresh_queue};

const SERVERS: [Backend; 4] = [
    Backend::Embedded,
    Backend::Redis,
    Backend::Valkey,
    Backend::Cluster,
];

/// Scripts that every server refuses.
const REFUSED: &[&str] = &[
    "a_new_global = 1",
    "return an_unknown_global",
    "KEYS = {}",
    "string.format = nil",
    "redis.call = nil",
    "redis.more = 1",
    "math = nil",
    "getmetatable('').__index.more = 1",
    "return os.getenv('HOME')",
    "return os.execute('true')",
    "return io.open('/etc/hostname')",
    "return require('string')",
    "return dofile('/etc/hostname')",
    "return loadfile('/etc/hostname')",
    "return debug.getinfo(1)",
    "print('text')",
    "return package.path",
    "local many = {} for n = 1, 8000 do many[n] = n end return #{ unpack(many) }",
    "return redis.call('NOSUCHCOMMAND', KEYS[1])",
    "return redis.call('HGET', KEYS[1])",
    "return redis.call('HGET', KEYS[1], {})",
    "return redis.call('HGET', KEYS[1], nil)",
    "return redis.call()",
    "redis.call('SET', KEYS[1], 'text') return redis.call('HGET', KEYS[1], 'field')",
    "redis.call('SET', KEYS[1], 'text') return redis.call('ZADD', KEYS[1], 1, 'member')",
    "return redis.call('ZADD', KEYS[1], 'text', 'member')",
    "return redis.call('ZADD', KEYS[1], 'NX', 1)",
    "return redis.call('HSET', KEYS[1], 'field')",
    "redis.call('HSET', KEYS[1], 'field', 'text') return redis.call('HINCRBY', KEYS[1], 'field', 1)",
    "return redis.call('RENAME', KEYS[1], KEYS[1])",
    "return { err = 'OWN code' }",
    "error('text')",
    "error({ err = 'OWN code' })",
    "return nil + 1",
    "return #",
    "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'text')",
    "#!lua flags=no-such-flag\nreturn 1",
];

/// Scripts to which every server gives the same answer.
const ANSWERED: &[&str] = &[
    "return 3.99",
    "return -3.99",
    "return 9007199254740991",
    "return true",
    "return false",
    "return nil",
    "return 'text'",
    "return { 1, 2.5, 'text', { 3, {} }, true, false, nil, 4 }",
    "return { 1, nil, 3 }",
    "return { ok = 'FINE' }",
    "return {}",
    "return { a = 1 }",
    "return #KEYS + #ARGV",
    "return ARGV[1]",
    "return type(redis.call('GET', KEYS[1]))",
    "return redis.call('SET', KEYS[1], 'text')",
    "return redis.call('SET', KEYS[1], 'text').ok",
    "return redis.pcall('HGET', KEYS[1]).err ~= nil",
    "return ({ pcall(redis.call, 'NOSUCHCOMMAND') })[1]",
    "redis.call('SET', KEYS[1], 12.5) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], 1e15) return redis.call('GET', KEYS[1])",
    "redis.call('SET', KEYS[1], 0.1 + 0.2) return tonumber(redis.call('GET', KEYS[1])) == 0.1 + 0.2",
    "redis.call('ZADD', KEYS[1], 1795260581079001, 'a', 0.5, 'b', '-inf', 'c', 'inf', 'd') \
     return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')",
    "redis.call('ZADD', KEYS[1], 1, 'a') return { redis.call('ZREM', KEYS[1], 'a'), redis.call('EXISTS', KEYS[1]) }",
    "redis.call('HSET', KEYS[1], 'a', 1) return { redis.call('HDEL', KEYS[1], 'a'), redis.call('EXISTS', KEYS[1]) }",
    "redis.call('XADD', KEYS[1], '*', 'a', 1) return redis.call('XLEN', KEYS[1])",
    "return redis.call('HMGET', KEYS[1], 'a', 'b')",
    "return tostring(1e15) .. ' ' .. tostring(0.1) .. ' ' .. 2^53",
    "return string.format('%.0f %d %s %.17g', 2^53, 3.99, 1/3, 0.1)",
    "return string.format('%5.1f|%-5s|%05d|%x', 1.25, 'a', 42, 255)",
    "return { string.find('a.b', '.', 1, true), string.match('k=v', '(%w+)=(%w+)'), ('x'):rep(3) }",
    "return table.concat({ 1, 2, 'three' }, ',')",
    "local many = {} for n = 1, 7900 do many[n] = n end return #{ unpack(many) }",
    "return { math.floor(-1.5), math.max(1, 2), math.huge > 1, select('#', 1, nil) }",
    "return cjson.encode({})",
    "return cjson.encode({ 1, 'text', { 2.5, true }, {} })",
    "return cjson.encode({ 1795260581079, 123456789012345678, 0.1 })",
    "return cjson.encode('\"/\\\\\\n')",
    "return cjson.encode({ a = { 1 } })",
    "return cjson.decode('[1,\"two\",[3],{\"four\":4}]')[4].four",
    "return cjson.decode('[null]')[1] == cjson.null",
    "return struct.pack('<sI8I8', 'word', 1, 9007199254740991)",
    "return struct.pack('<dBs', 0.5, 255, 'text')",
    "return { struct.unpack('<dBs', struct.pack('<dBs', 7, 255, 'text')) }",
    "return select('#', struct.unpack('<d', struct.pack('<dd', 1, 2), 9))",
    "#!lua flags=no-writes\nreturn redis.call('EXISTS', KEYS[1])",
    "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], 'text')",
    "#!lua\nreturn 1",
];

/// Runs a script with one key and one argument. An answer that is an error comes as its code.
async fn run(link: &mut RawLink, key: &str, source: &str) -> Result<Value, String> {
    let code_of = |error: redis::RedisError| error.code().unwrap_or("none").to_owned();
    let mut load = redis::cmd("SCRIPT");
    load.arg("LOAD").arg(source);
    let hash: String = load.query_async(link).await.map_err(code_of)?;
    let mut call = redis::cmd("EVALSHA");
    call.arg(hash).arg(1).arg(key).arg("argument");
    let answer = link.req_packed_command(&call).await.map_err(code_of)?;
    answer.extract_error().map_err(code_of)
}

/// The answers of one server, each to a fresh key.
async fn answers(backend: Backend, scripts: &[&str]) -> Vec<Result<Value, String>> {
    let mut answers = Vec::new();
    for script in scripts {
        let queue = fresh_queue();
        let mut link = backend.raw_link(&queue).await;
        let key = format!("vestibule:{{{queue}}}:scratch");
        answers.push(run(&mut link, &key, script).await);
        let removed: redis::RedisResult<u64> = redis::cmd("UNLINK").arg(&key).query_async(&mut link).await;
        removed.expect("the key is removed");
    }
    answers
}

async fn require_same_answers(scripts: &[&str], is_refused: bool) {
    let expected = answers(Backend::Redis, scripts).await;
    for (script, answer) in scripts.iter().zip(&expected) {
        assert_eq!(answer.is_err(), is_refused, "Redis: {script}: {answer:?}");
    }
    for backend in SERVERS {
        let answers = answers(backend, scripts).await;
        let pairs = scripts.iter().zip(answers.iter().zip(&expected));
        let different: Vec<_> = pairs
            .filter(|(_, (answer, expected))| answer != expected)
            .collect();
        assert!(
            different.is_empty(),
            "{backend:?}, and what Redis answers: {different:#?}"
        );
    }
}

#[tokio::test]
async fn every_server_refuses_the_same_scripts() {
    require_same_answers(REFUSED, true).await;
}

#[tokio::test]
async fn every_server_gives_the_same_answers_to_scripts() {
    require_same_answers(ANSWERED, false).await;
}

/// A full server refuses a script unless it may run then, or changes nothing.
#[tokio::test]
async fn full_embedded_server_runs_what_a_full_redis_runs() {
    let server = vestibule_line::EmbeddedServer::new(vestibule_telemetry::clock::system_clock());
    server.set_full(true);
    let mut link = RawLink::Embedded(server.clone());
    let set = "return redis.call('SET', KEYS[1], 'text')";
    let cases = [
        (format!("#!lua\n{set}"), Err("OOM")),
        (format!("#!lua flags=allow-oom\n{set}"), Ok(())),
        (
            "#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])".to_owned(),
            Ok(()),
        ),
    ];
    for (script, expected) in cases {
        let answer = run(&mut link, "key", &script).await;
        assert_eq!(answer.map(drop), expected.map_err(str::to_owned), "{script}");
    }
    let mut command = redis::cmd("HSET");
    command.arg("hash").arg("field").arg("value");
    let refused = command.query_async::<u64>(&mut link).await;
    assert_eq!(refused.expect_err("the server is full").code(), Some("OOM"));
    server.set_full(false);
    assert_eq!(
        command
            .query_async::<u64>(&mut link)
            .await
            .expect("there is room"),
        1
    );
}
