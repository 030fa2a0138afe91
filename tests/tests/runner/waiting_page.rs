//! The waiting page and its files: compiled into the runner, or in a folder on disk.

use std::fs;

use reqwest::header::HeaderMap;
use vestibule_tests::{runner::Runner, template::read_text};

use crate::{start_runner, temporary_folder};

/// Gets a file of the page: its media type, its headers and its text.
async fn get(runner: &Runner, path: &str) -> (String, HeaderMap, String) {
    let answer = runner
        .http()
        .get(runner.url(path))
        .send()
        .await
        .expect("answered");
    assert_eq!(answer.status(), 200, "{path}");
    let headers = answer.headers().clone();
    let kind = headers["content-type"].to_str().expect("text").to_owned();
    let policy = headers["content-security-policy"].to_str().expect("text");
    assert!(!policy.contains("unsafe"), "{policy}");
    (kind, headers, answer.text().await.expect("text"))
}

#[tokio::test]
async fn waiting_page_and_its_files_are_served() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    let (kind, headers, page) = get(&runner, "/").await;
    assert!(kind.starts_with("text/html"), "{kind}");
    assert_eq!(headers["cache-control"], "no-cache");
    assert_eq!(page, read_text("web/page/dist/pages/en.html"));
    assert!(
        !page.contains(" style=") && !page.contains(" onclick") && !page.contains("innerHTML"),
        "the page must have no code that the policy forbids, and set no innerHTML"
    );
    assert!(get(&runner, "/theme.css").await.0.starts_with("text/css"));
    assert_eq!(get(&runner, "/theme.json").await.2, "{}");
}

#[tokio::test]
async fn bundles_of_the_library_and_the_api_document_are_served() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    for name in ["vestibule.js", "element.js"] {
        let (kind, _, text) = get(&runner, &format!("/{name}")).await;
        assert!(kind.starts_with("text/javascript"), "{name}: {kind}");
        assert_eq!(text, read_text(&format!("web/client/dist/{name}")));
        assert!(!text.contains("innerHTML"), "{name} must not set innerHTML");
    }
    let (kind, _, text) = get(&runner, "/openapi.json").await;
    assert_eq!(
        (&*kind, text),
        ("application/json", read_text("docs/openapi.json"))
    );
}

#[tokio::test]
async fn files_of_a_folder_come_before_those_of_the_page() {
    let dir = temporary_folder();
    let web = temporary_folder();
    fs::write(web.path().join("theme.css"), ":root{--brand:red}").expect("a theme");
    fs::create_dir(web.path().join("shop")).expect("a folder");
    fs::write(web.path().join("shop/logo.svg"), "<svg/>").expect("a logo");
    fs::write(dir.path().join("secret.css"), "secret").expect("a file outside");
    let folder = web.path().to_str().expect("text");
    let arguments = ["--demo-visitors", "0", "--web", folder];
    let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");

    assert_eq!(get(&runner, "/theme.css").await.2, ":root{--brand:red}");
    let (kind, _, page) = get(&runner, "/").await;
    assert!(kind.starts_with("text/html"), "{kind}");
    // A folder has the same page, with a theme of its own.
    assert_eq!(get(&runner, "/shop/").await.2, page);
    assert_eq!(get(&runner, "/shop/logo.svg").await.0, "image/svg+xml");
    assert_eq!(get(&runner, "/shop/theme.css").await.2, "");
    // Changes are seen without a restart.
    fs::write(web.path().join("shop/theme.css"), "a{}").expect("a theme");
    assert_eq!(get(&runner, "/shop/theme.css").await.2, "a{}");

    for outside in [
        "/%2e%2e/secret.css",
        "/..%2Fsecret.css",
        "/.hidden",
        "/shop/none.css",
    ] {
        let answer = runner
            .http()
            .get(runner.url(outside))
            .send()
            .await
            .expect("answered");
        assert_eq!(answer.status(), 404, "{outside}");
    }
    let queue = runner.http().get(runner.url("/queues/demo:1"));
    assert_eq!(queue.send().await.expect("answered").status(), 200);
}
