use axum::http::HeaderValue;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};

use super::*;
use crate::pass::new_key_pem;

fn read(name: &'static str, value: &'static str, on_lambda: bool) -> Result<EdgeConfig, ConfigError> {
    let vars = move |asked: &str| (asked == name).then(|| value.to_owned());
    EdgeConfig::read(&vars, on_lambda)
}

#[test]
fn nothing_set_means_the_defaults() {
    for on_lambda in [true, false] {
        let read = EdgeConfig::read(&|_| None, on_lambda);
        assert_eq!(read, Ok(EdgeConfig::default()), "and never a laptop's");
    }
}

#[test]
fn an_error_names_the_variable() {
    for (name, value) in [
        ("VESTIBULE_CORS_ORIGINS", "shop.example"),
        ("VESTIBULE_CORS_ORIGINS", "https://shop.example/page"),
        ("VESTIBULE_CORS_ORIGINS", "*, https://shop.example"),
        ("VESTIBULE_HELD_BUDGET", "-1"),
        ("VESTIBULE_VISITOR_ROUTES", "none"),
        ("VESTIBULE_SERVICE_ROUTES", "open"),
    ] {
        assert_eq!(read(name, value, true).expect_err(value).name, name, "{value}");
    }
}

#[test]
fn service_routes_are_never_unguarded_on_lambda() {
    let refused = read("VESTIBULE_SERVICE_ROUTES", "none", true).expect_err("refused");
    assert!(
        refused
            .to_string()
            .starts_with("VESTIBULE_SERVICE_ROUTES must not be none"),
        "{refused}"
    );
    let local = read("VESTIBULE_SERVICE_ROUTES", "none", false).expect("fine on a laptop");
    assert_eq!(local.service_routes, ServiceRoutes::Unguarded);
}

#[test]
fn visitors_guarded_as_the_service_is_are_told_apart_by_a_list() {
    for guard in ["iam", "api-key"] {
        for (visitors, callers, starts) in [
            (guard, None, false),
            (guard, Some(" , "), false),
            (guard, Some("key1"), true),
            ("open", None, true),
        ] {
            let vars = |asked: &str| match asked {
                "VESTIBULE_VISITOR_ROUTES" => Some(visitors.to_owned()),
                "VESTIBULE_SERVICE_ROUTES" => Some(guard.to_owned()),
                "VESTIBULE_SERVICE_CALLERS" => callers.map(str::to_owned),
                _ => None,
            };
            let read = EdgeConfig::read(&vars, true);
            assert_eq!(read.is_ok(), starts, "{read:?}");
            if let Err(error) = read {
                assert_eq!(error.name, "VESTIBULE_SERVICE_CALLERS");
            }
        }
    }
}

#[test]
fn origins_are_a_list_or_any() {
    let any = read("VESTIBULE_CORS_ORIGINS", "*", true).expect("valid");
    assert_eq!(any.origins, Origins::Any);
    let named = read(
        "VESTIBULE_CORS_ORIGINS",
        "https://a.example, http://localhost:3000",
        true,
    );
    let expected = ["https://a.example", "http://localhost:3000"].map(HeaderValue::from_static);
    assert_eq!(named.expect("valid").origins, Origins::Named(expected.to_vec()));
}

#[test]
fn keys_are_read_in_both_forms_and_never_shown() {
    let pem = new_key_pem([5; 32]).replace('\n', "\\n");
    for root in [
        "ab".repeat(32),
        STANDARD.encode([7; 32]),
        URL_SAFE_NO_PAD.encode([0xff; 40]),
    ] {
        let vars = |name: &str| {
            Some(if name == "VESTIBULE_ROOT_KEY" {
                root.clone()
            } else {
                pem.clone()
            })
        };
        let keys = Keys::read(&vars, "https://wait.example").expect("valid");
        let shown = format!("{keys:?}");
        assert!(
            !shown.contains(&root) && shown.contains("RootKey(***)"),
            "{shown}"
        );
    }
    for (root, pem, named) in [
        ("abcd", pem.as_str(), "VESTIBULE_ROOT_KEY"),
        ("not a key", pem.as_str(), "VESTIBULE_ROOT_KEY"),
        (&"ab".repeat(32), "not a key", "VESTIBULE_SIGNING_KEY"),
    ] {
        let vars = |name: &str| Some(if name == "VESTIBULE_ROOT_KEY" { root } else { pem }.to_owned());
        let error = Keys::read(&vars, "x").expect_err(named);
        assert_eq!(error.name, named);
        assert!(!error.to_string().contains(root), "{error}");
    }
}
