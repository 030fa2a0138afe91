//! The problem codes in the documents are those that the code declares.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;
use vestibule_domain::poll_pacing::RETRY_AFTER_MIN_SECONDS;
use vestibule_tests::{
    markdown::code_spans,
    template::{read_api_document, read_api_documentation, read_rust_sources, read_text, read_web_scripts},
};
use vestibule_wire::problem::{Audience, Code};

#[test]
fn the_gateway_answers_with_declared_titles_and_statuses() {
    for problem in gateway_problems() {
        let code = problem["code"].as_str().expect("a code");
        // Vestibule may answer with the same code: then both answers say the same.
        let declared = Code::of_callers().find(|declared| declared.name() == code);
        let declared = declared.unwrap_or_else(|| panic!("{code} is not declared"));
        assert_eq!(problem["title"], declared.title(), "{code}");
        assert_eq!(problem["status"], declared.status(), "{code}");
        let (detail, usual) = (&problem["detail"], declared.detail());
        let is_own = declared.audience() == Audience::Gateway && !usual.is_empty();
        assert!(!is_own || detail == usual, "{code}: {detail}");
    }
}

/// The gateway cannot draw a time, so it says the shortest one, and clients add their own delay to it.
#[test]
fn the_gateway_says_the_shortest_retry_after() {
    let document = read_api_document();
    let answers = document["x-amazon-apigateway-gateway-responses"].as_object();
    let own_time = ["QUOTA_EXCEEDED", "WAF_FILTERED"];
    for (name, answer) in answers.expect("answers") {
        let header = &answer["responseParameters"]["gatewayresponse.header.Retry-After"];
        if header.is_string() && !own_time.contains(&name.as_str()) {
            assert_eq!(header, &format!("'{RETRY_AFTER_MIN_SECONDS}'"), "{name}");
        }
    }
}

#[test]
fn documented_answers_name_codes_of_their_status() {
    let document = read_api_documentation();
    let codes = codes_of_callers();
    let operations = document["paths"]
        .as_object()
        .expect("paths")
        .values()
        .flat_map(|path| path.as_object().expect("operations").values());
    let mut named = BTreeSet::new();
    for operation in operations {
        for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
            let Some(name) = answer["$ref"].as_str().and_then(|path| path.rsplit('/').next()) else {
                continue;
            };
            let description = document["components"]["responses"][name]["description"].as_str();
            for code in code_spans(description.unwrap_or_default()) {
                if let Some(declared) = codes.get(code) {
                    assert_eq!(declared.to_string(), *status, "{code} in {name}");
                    named.insert(code.to_owned());
                }
            }
        }
    }
    // These answer requests that no documented route serves, or requests of every route alike.
    let elsewhere = ["method-not-allowed", "foreign-host", "headers-too-large"];
    for code in Code::ALL.iter().filter(|code| is_of_api(**code)) {
        let is_named = named.contains(code.name());
        assert_ne!(is_named, elsewhere.contains(&code.name()), "{code:?}");
    }
}

#[test]
fn the_guides_show_codes_with_their_status() {
    let mut statuses = codes_of_callers();
    statuses.extend(
        Code::ALL
            .iter()
            .map(|code| (code.name().to_owned(), code.status())),
    );
    for (path, text) in guides() {
        for (at, _) in text.match_indices('`') {
            let (before, after) = (text[..at].trim_end(), &text[at + 1..]);
            let Some((span, _)) = after.split_once('`') else {
                continue;
            };
            // Either 503 `recovering`, or `503 recovering`.
            let (status, code) = span.split_once(' ').unwrap_or_else(|| {
                let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next();
                (word.unwrap_or_default(), span)
            });
            if let (Ok(status), Some(declared)) = (status.parse::<u16>(), statuses.get(code)) {
                assert_eq!(status, *declared, "{code} in {path}");
            }
        }
    }
}

#[test]
fn the_page_knows_only_codes_that_exist() {
    let html = read_text("web/page/index.html");
    let codes = codes_of_callers();
    let mut known = 0;
    // The types are made of the document.
    let scripts = read_web_scripts()
        .into_iter()
        .filter(|(name, _)| name != "wire.ts");
    for (path, script) in scripts {
        for literal in script.split('"').skip(1).step_by(2).filter(|text| is_code(text)) {
            // Other names of this form are parts of the page, names of the element, languages, or the code with which the
            // library says that an answer is not a problem.
            let is_of_client =
                literal == "no-problem" || literal.contains("vestibule-") || literal.starts_with("zh-");
            if !html.contains(&format!("\"{literal}\"")) && !is_of_client {
                assert!(codes.contains_key(literal), "{path}: {literal} is not a code");
                known += 1;
            }
        }
    }
    assert!(known > 0, "the page handles some codes");
}

#[test]
fn the_page_has_sentences_for_codes_that_exist() {
    let codes = codes_of_callers();
    let sentences: Value = serde_json::from_str(&read_text("web/lang/en.json")).expect("JSON");
    let keys = sentences.as_object().expect("sentences").keys();
    let named: Vec<_> = keys.filter(|key| is_code(key)).collect();
    assert!(named.len() > 3, "{named:?}");
    for code in named {
        assert!(codes.contains_key(code), "{code} is not a code");
    }
}

/// Whether a text has the form of a code.
fn is_code(text: &str) -> bool {
    let is_plain = text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    is_plain && text.contains('-') && text.starts_with(|first: char| first != '-')
}

#[test]
fn every_code_is_used_by_its_audience() {
    let used_in = |folders: &[&str]| -> BTreeSet<String> {
        folders
            .iter()
            .flat_map(|folder| read_rust_sources(folder))
            .flat_map(|source| {
                let after = source.split("Code::").skip(1);
                let word = |rest: &str| {
                    rest.split(|c: char| !c.is_alphanumeric())
                        .next()
                        .map(str::to_owned)
                };
                after.filter_map(word).collect::<Vec<_>>()
            })
            .filter(|word| Code::ALL.iter().any(|code| format!("{code:?}") == *word))
            .collect()
    };
    let of = |audiences: &[Audience]| -> BTreeSet<String> {
        let codes = Code::ALL
            .iter()
            .filter(|code| audiences.contains(&code.audience()));
        codes.map(|code| format!("{code:?}")).collect()
    };
    assert_eq!(
        used_in(&["shared/api/src", "shared/line/src", "tools/local/src"]),
        of(&[Audience::Api, Audience::Authorizer, Audience::Both])
    );
    assert_eq!(
        used_in(&["shared/admin/src"]),
        of(&[Audience::Operators, Audience::Both])
    );
    let of_console = of(&[Audience::Console]);
    assert!(
        used_in(&["shared/console/src"]).is_superset(&of_console),
        "{of_console:?}"
    );
}

#[test]
fn a_problem_with_the_usual_sentence_has_one() {
    let folders = ["shared/api/src", "shared/admin/src", "shared/console/src"];
    let sources = folders.iter().flat_map(|folder| read_rust_sources(folder));
    let used: BTreeSet<_> = sources
        .flat_map(|source| {
            let after = source.split("usual(Code::").skip(1);
            let word = |rest: &str| {
                rest.split(|c: char| !c.is_alphanumeric())
                    .next()
                    .map(str::to_owned)
            };
            after.filter_map(word).collect::<Vec<_>>()
        })
        .collect();
    assert!(used.len() > 10, "{used:?}");
    // The line refuses a visitor with these.
    let of_line = [
        Code::QueueDraining,
        Code::QueueClosed,
        Code::QueueFinished,
        Code::QueueFull,
        Code::BackupBehind,
    ];
    for code in Code::ALL {
        let is_used = used.contains(&format!("{code:?}")) || of_line.contains(code);
        assert!(!is_used || !code.detail().is_empty(), "{code:?}");
    }
}

/// Whether callers of Vestibule's own API get problems with this code.
fn is_of_api(code: Code) -> bool {
    matches!(code.audience(), Audience::Api | Audience::Both)
}

/// The codes that callers of the API get, from Vestibule or from API Gateway, with their status.
fn codes_of_callers() -> BTreeMap<String, u16> {
    let codes = Code::of_callers();
    codes
        .map(|code| (code.name().to_owned(), code.status()))
        .collect()
}

fn gateway_problems() -> Vec<Value> {
    read_api_document()["x-amazon-apigateway-gateway-responses"]
        .as_object()
        .expect("answers of the gateway")
        .values()
        .map(|answer| {
            let body = answer["responseTemplates"]["application/json"].as_str();
            serde_json::from_str(body.expect("a template")).expect("JSON")
        })
        .collect()
}

/// The pages for readers: the README and all pages under `docs`, with their paths.
fn guides() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = vec![("README.md".to_owned(), read_text("README.md"))];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = format!("{folder}/{}", entry.file_name().display());
            if entry.path().is_dir() {
                folders.push(path);
            } else if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "md")
            {
                let content = read_text(&path);
                found.push((path, content));
            }
        }
    }
    found
}
