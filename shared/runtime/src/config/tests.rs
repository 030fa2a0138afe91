mod keys;

use std::collections::HashMap;

use super::*;

/// Builds an environment that contains only these variables.
fn vars(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let set: HashMap<_, _> = set
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    move |asked| set.get(asked).cloned()
}

#[test]
fn every_wrong_variable_is_named_at_once() {
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
