use serde_json::{Map, Value, json};

use super::*;

fn parse_settings(value: &Value) -> Result<Settings, SettingsError> {
    Settings::from_map(value.as_object().expect("an object"))
}

#[test]
fn every_default_is_a_valid_value() {
    let defaults = Settings::default();
    let map = defaults.to_map();
    for field in FIELDS {
        let default = field.default_text();
        let written = json!({ field.name: default });
        assert_eq!(
            parse_settings(&written).as_ref(),
            Ok(&defaults),
            "{} as a string",
            field.name
        );
    }
    assert_eq!(
        Settings::from_map(&map),
        Ok(defaults),
        "the stored form parses to the same settings"
    );
}

#[test]
fn an_invalid_field_is_refused_by_name() {
    for field in FIELDS {
        for wrong in [
            json!([]),
            json!({}),
            json!(-1),
            json!(1.5),
            json!("\u{7}nonsense".repeat(400)),
        ] {
            if matches!(field.field_type, FieldType::Blocks { .. }) && wrong == json!([]) {
                continue; // no blocks
            }
            let error = parse_settings(&json!({ field.name: wrong })).expect_err("out of range");
            assert_eq!(error.field, field.name, "{wrong}");
        }
        if let FieldType::Number { min, max } = field.field_type {
            for wrong in [i64::from(min) - 1, i64::from(max) + 1, i64::MAX] {
                let error = parse_settings(&json!({ field.name: wrong })).expect_err("out of range");
                assert!(
                    error.to_string().contains(&format!("from {min} to {max}")),
                    "{error}"
                );
            }
        }
    }
    assert_eq!(
        parse_settings(&json!({ "batsh": 1 })).expect_err("unknown").field,
        "batsh"
    );
}

#[test]
fn a_change_keeps_the_other_fields() {
    let before = parse_settings(&json!({ "capacity": 7, "message": "soon" })).expect("valid");
    let after = before
        .clone()
        .with_fields(json!({ "batch": "3" }).as_object().expect("an object"))
        .expect("valid");
    assert_eq!(after, Settings { batch: 3, ..before });
}

#[test]
fn session_max_is_never_shorter_than_a_session() {
    assert_eq!(
        parse_settings(&json!({ "session_seconds": 7200 }))
            .expect("valid")
            .session_max_seconds,
        7200
    );
    let both = json!({ "session_seconds": 7200, "session_max_seconds": 60 });
    assert_eq!(
        parse_settings(&both).expect_err("does not fit").field,
        "session_max_seconds"
    );
}

#[test]
fn a_target_url_is_https_or_loopback() {
    for good in [
        "https://shop.example/x",
        "http://localhost:3000/",
        "http://127.0.0.1",
        "http://[::1]:3000/",
        "https://shop.example/enter?pass={pass}&to={return}",
        "https://shop.example/#pass={pass}",
    ] {
        assert!(parse_settings(&json!({ "target_url": good })).is_ok(), "{good}");
    }
    for bad in [
        "http://shop.example",
        "javascript:alert(1)",
        "http://localhost.example",
        "https://",
        "https:///x",
        "http://localhost:1@evil.example",
        "https://shop.example@evil.example/",
        "https://{return}.example/",
        "https://shop.example:{pass}/",
        "https://shop.example/{token}",
        "https://shop.example\\@evil.example",
    ] {
        assert_eq!(
            parse_settings(&json!({ "target_url": bad }))
                .expect_err(bad)
                .field,
            "target_url"
        );
    }
}

#[test]
fn null_returns_each_setting_to_its_default() {
    let changed = json!({
        "capacity": 7, "batch": 3, "claim_seconds": 77, "session_seconds": 50, "session_max_seconds": 60, "paused": true,
        "entrance": "draining", "opens_at_ms": 1_900_000_000_000_u64, "message": "Soon", "visitors": "ticket",
    });
    let changed = parse_settings(&changed).expect("valid");
    let defaults = Settings::default().to_map();
    let mut all = Map::new();
    for field in FIELDS {
        let given = Map::from_iter([(field.name.to_owned(), Value::Null)]);
        let reset = changed.clone().with_fields(&given).expect(field.name).to_map();
        if field.name != "session_max_seconds" {
            assert_eq!(reset[field.name], defaults[field.name], "{}", field.name);
        }
        all.extend(given);
    }
    assert_eq!(changed.with_fields(&all).expect("valid"), Settings::default());
}
