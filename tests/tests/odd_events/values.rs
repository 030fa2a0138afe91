//! Values that no client of good will sends, and that a parser may not expect.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// Texts that are special in a URL, a header, a query, base64 or a path.
const SPECIAL_TEXTS: [&str; 44] = [
    "",
    " ",
    "/",
    "//",
    "..",
    "/..",
    "?",
    "#",
    "*",
    "%",
    "%zz",
    "%FF",
    "%00",
    "a=\"b\"",
    "a=<b>&c={d}",
    "a=b c",
    "=",
    "&&",
    "a=1&a=2",
    "ü",
    "日本",
    "\u{0}",
    "\r\n",
    "a\r\nb: c",
    "\u{7f}",
    "\t",
    "{",
    "{}",
    "[]",
    "null",
    "NaN",
    "-1",
    "1e999",
    "http://",
    "https://user:pw@host:99999/x",
    "::1",
    "[::1",
    "a:b",
    "a b.example",
    "\u{feff}",
    "====",
    "YQ",
    "YQ==",
    "\u{202e}",
];

/// Longer than a URL or a line of headers may be.
const LONG_TEXT_CHARS: usize = 70_000;

/// Methods that the routes do not have, and texts that are no method.
const METHODS: [&str; 12] = [
    "GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "CONNECT", "get", "", "G E T", "GËT", "A\u{0}",
];

/// Any text. Some are special, and few are long.
pub(crate) fn odd_text() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => select(&SPECIAL_TEXTS[..]).prop_map(str::to_owned),
        6 => any::<String>(),
        4 => "[ -~]{0,30}",
        1 => Just("a".repeat(LONG_TEXT_CHARS)),
    ]
}

/// A text that may be a method.
pub(crate) fn method() -> impl Strategy<Value = String> {
    select(&METHODS[..]).prop_map(str::to_owned)
}

/// Any JSON, up to four levels deep.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        odd_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = vec(inner.clone(), 0..4).prop_map(Value::from);
        let names = vec((odd_text(), inner), 0..4);
        let object = names.prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()));
        prop_oneof![list, object]
    })
}

/// Lists of texts by name, some of them empty.
pub(crate) fn lists_by_name() -> impl Strategy<Value = Value> {
    let pairs = vec((odd_text(), vec(odd_text(), 0..3)), 0..3);
    pairs.prop_map(|pairs| json!(pairs.into_iter().collect::<std::collections::BTreeMap<_, _>>()))
}

/// JSON text that a `Value` cannot hold: too deep, numbers beyond any type, or no JSON at all.
pub(crate) fn odd_json_text() -> impl Strategy<Value = String> {
    let depth = select(&[2_usize, 60, 126, 127, 128, 129, 500, 100_000][..]);
    let nested = (depth, any::<bool>()).prop_map(|(depth, is_list)| {
        let (open, close) = if is_list { ("[", "]") } else { ("{\"a\":", "}") };
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    });
    let numbers = prop_oneof![
        Just("1e400".to_owned()),
        Just("-1e400".to_owned()),
        Just("0.1e-400".to_owned()),
        Just("-0".to_owned()),
        Just("9".repeat(400)),
        Just("18446744073709551616".to_owned()),
    ];
    let broken = select(
        &[
            "",
            "[",
            "{",
            "{\"a\":",
            "\"\\ud800\"",
            "nul",
            "\u{feff}{}",
            "{}{}",
            "{\"a\":1,\"a\":2}",
        ][..],
    );
    prop_oneof![nested, numbers, broken.prop_map(str::to_owned)]
}
