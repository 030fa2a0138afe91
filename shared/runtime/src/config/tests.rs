mod keys;

use std::collections::HashMap;

use axum::http::HeaderValue;
use vestibule_api::config::{ApiConfig, Origins, ServiceRoutes};

use super::{api::read_api_config, *};

fn read(name: &'static str, value: &'static str) -> Result<ApiConfig, ConfigErrors> {
    read_api_config(&vars(&[(name, value)]))
}

/// Builds an environment that contains only these variables.
fn vars(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let set: HashMap<_, _> = set
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    move |asked| set.get(asked).cloned()
}

#[test]
fn empty_environment_gives_the_defaults() {
    let read = read_api_config(&|_| None);
    assert_eq!(read, Ok(ApiConfig::default()), "and never a laptop's");
}

#[test]
fn invalid_value_is_refused_by_variable_name() {
    for (name, value) in [
        ("VESTIBULE_CORS_ORIGINS", "shop.example"),
        ("VESTIBULE_CORS_ORIGINS", "https://shop.example/page"),
        ("VESTIBULE_CORS_ORIGINS", "*, https://shop.example"),
        ("VESTIBULE_HELD_BUDGET", "-1"),
        ("VESTIBULE_VISITOR_ROUTES", "none"),
        ("VESTIBULE_SERVICE_ROUTES", "open"),
    ] {
        assert_eq!(read(name, value).expect_err(value).names(), [name], "{value}");
    }
}

#[test]
fn every_wrong_variable_is_named_at_once() {
    let wrong = [
        ("VESTIBULE_CORS_ORIGINS", "shop.example"),
        ("VESTIBULE_VISITORS_BY", "nobody"),
        ("VESTIBULE_FRAME_ANCESTORS", "???"),
    ];
    let errors = read_api_config(&vars(&wrong)).expect_err("refused");
    assert_eq!(
        errors.names(),
        [
            "VESTIBULE_CORS_ORIGINS",
            "VESTIBULE_VISITORS_BY",
            "VESTIBULE_FRAME_ANCESTORS"
        ]
    );
    let errors = KeysConfig::read(&vars(&[("VESTIBULE_KEY_CACHE_SECONDS", "0")])).expect_err("refused");
    let missing = [
        "VESTIBULE_ROOT_KEY",
        "VESTIBULE_SIGNING_KEY",
        "VESTIBULE_KEY_CACHE_SECONDS",
        "VESTIBULE_ISSUER",
    ];
    assert_eq!(errors.names(), missing, "{errors}");
}

#[test]
fn service_routes_are_never_unguarded_on_lambda() {
    let lambda = [
        ("VESTIBULE_SERVICE_ROUTES", "none"),
        ("AWS_LAMBDA_RUNTIME_API", "169.254.100.1:9001"),
        ("LAMBDA_TASK_ROOT", "/var/task"),
    ];
    for more in [&[][..], &[("AWS_SAM_LOCAL", "no")]] {
        let refused = read_api_config(&vars(&[&lambda, more].concat())).expect_err("refused");
        assert!(
            refused
                .to_string()
                .starts_with("VESTIBULE_SERVICE_ROUTES must not be none"),
            "{refused}"
        );
    }
}

#[test]
fn service_routes_may_be_unguarded_off_lambda() {
    let runtime = ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001");
    for (what, laptop) in [
        ("a process of its own", &[][..]),
        (
            "cargo lambda watch",
            &[("AWS_LAMBDA_RUNTIME_API", "http://[::]:9000/.rt/validate/")],
        ),
        ("an emulator", &[runtime, ("LAMBDA_TASK_ROOT", "/tmp/code")]),
        (
            "sam local",
            &[
                runtime,
                ("LAMBDA_TASK_ROOT", "/var/task"),
                ("AWS_SAM_LOCAL", "true"),
            ],
        ),
    ] {
        let all = [&[("VESTIBULE_SERVICE_ROUTES", "none")], laptop].concat();
        let config = read_api_config(&vars(&all)).expect(what);
        assert_eq!(config.service_routes, ServiceRoutes::Unguarded, "{what}");
        assert!(!config.local, "{what}: nothing else is loosened");
    }
}

#[test]
fn shared_credential_kind_requires_a_caller_list() {
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
            let read = read_api_config(&vars);
            assert_eq!(read.is_ok(), starts, "{read:?}");
            if let Err(error) = read {
                assert_eq!(error.names(), ["VESTIBULE_SERVICE_CALLERS"]);
            }
        }
    }
}

#[test]
fn origins_are_a_list_or_a_star() {
    let any = read("VESTIBULE_CORS_ORIGINS", "*").expect("valid");
    assert_eq!(any.origins, Origins::Any);
    let named = read(
        "VESTIBULE_CORS_ORIGINS",
        "https://a.example, http://localhost:3000",
    );
    let expected = ["https://a.example", "http://localhost:3000"].map(HeaderValue::from_static);
    assert_eq!(named.expect("valid").origins, Origins::Listed(expected.to_vec()));
}

#[test]
fn iam_login_needs_cache_user_and_tls() {
    let (cache, user) = (
        ("VESTIBULE_REDIS_IAM_CACHE", "line"),
        ("VESTIBULE_REDIS_IAM_USER", "app"),
    );
    let url = |url| ("VESTIBULE_REDIS_URL", url);
    for good in ["rediss://cache:6379", "rediss+cluster://cache:6379"] {
        let read = RedisConfig::read(&vars(&[url(good), cache, user])).expect(good);
        assert_eq!(
            read.iam.map(|iam| (iam.cache, iam.user)),
            Some(("line".into(), "app".into()))
        );
        assert_eq!(RedisConfig::read(&vars(&[url(good)])).expect(good).iam, None);
    }
    for (set, named) in [
        (&[cache, user][..], "VESTIBULE_REDIS_URL"),
        (&[url("redis://cache:6379"), cache, user], "VESTIBULE_REDIS_URL"),
        (
            &[url("redis+cluster://cache:6379"), cache, user],
            "VESTIBULE_REDIS_URL",
        ),
        (
            &[url("rediss://app:secret@cache:6379"), cache, user],
            "VESTIBULE_REDIS_URL",
        ),
        (&[url("rediss://cache:6379"), cache], "VESTIBULE_REDIS_IAM_USER"),
        (&[url("rediss://cache:6379"), user], "VESTIBULE_REDIS_IAM_CACHE"),
    ] {
        let error = RedisConfig::read(&vars(set)).expect_err(named);
        assert_eq!(error.name, named);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn redis_url_and_its_ca_file_must_be_valid() {
    let read = |url: &str| RedisConfig::read(&vars(&[("VESTIBULE_REDIS_URL", url)]));
    for good in ["redis://cache", "rediss+cluster://app:secret@a:1,b:2"] {
        assert_eq!(read(good).expect(good).url, good);
    }
    for bad in [
        "cache:6379",
        "redis://app:secret@a:1,b:2",
        "rediss://app:secret@cache?ca_file=/no/such/file",
        "redis://app:secret@cache?ca_file=/etc/hostname",
    ] {
        let error = read(bad).expect_err(bad);
        assert_eq!(error.name, "VESTIBULE_REDIS_URL");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
