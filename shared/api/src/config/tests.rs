use std::collections::HashMap;

use axum::http::HeaderValue;
use vestibule_telemetry::variables::ConfigErrors;

use super::{ApiConfig, Origins, ServiceRoutes, environment::read_api_config};

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
