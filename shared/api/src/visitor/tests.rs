use uuid::Uuid;
use vestibule_domain::id::{RootKey, Salt};

use super::*;

fn ids() -> IdKey {
    let root = RootKey::new(vec![7; 32]).expect("long enough");
    IdKey::derive_for_queue(&root, &"a".parse().expect("a queue id"), &Salt::new([1; 32]))
}

fn known(id: &str) -> Visitor {
    Visitor::known(id).expect("valid")
}

fn random_visitor() -> Visitor {
    Visitor::from_random(Uuid::new_v4())
}

#[test]
fn token_kind_picks_the_credential_to_compare() {
    let (ada, bob) = (Some(known("ada")), Some(known("bob")));
    let (guest, other) = (Some(random_visitor()), Some(random_visitor()));
    let token = |visitor: &Option<Visitor>| ids().entry_id(visitor.as_ref().expect("a visitor"));
    let (adas, guests) = (token(&ada), token(&guest));
    for (token, known, anonymous, cookie, expected) in [
        (adas, &ada, &None, &None, Ownership::Proven),
        (adas, &ada, &guest, &other, Ownership::Proven),
        (adas, &bob, &None, &None, Ownership::Mismatch),
        (adas, &bob, &guest, &None, Ownership::Mismatch),
        (adas, &None, &guest, &None, Ownership::Mismatch),
        (adas, &None, &None, &guest, Ownership::Unproven),
        (adas, &None, &None, &None, Ownership::Unproven),
        (guests, &None, &guest, &None, Ownership::Proven),
        (guests, &bob, &guest, &None, Ownership::Proven),
        (guests, &None, &None, &guest, Ownership::Proven),
        (guests, &bob, &None, &guest, Ownership::Proven),
        (guests, &None, &other, &guest, Ownership::Mismatch),
        (guests, &ada, &None, &None, Ownership::Mismatch),
        (guests, &None, &None, &other, Ownership::Mismatch),
        (guests, &None, &None, &None, Ownership::Unproven),
    ] {
        let credentials = Credentials {
            known: known.clone(),
            anonymous: anonymous.clone(),
            cookie: cookie.clone(),
        };
        assert_eq!(credentials.ownership(&ids(), token), expected, "{credentials:?}");
    }
}

#[test]
fn visitor_named_by_service_is_read_by_token_kind() {
    let uuid = Uuid::new_v4().to_string();
    let anonymous = ids().entry_id(&Visitor::anonymous(&uuid).expect("valid"));
    let same_name = ids().entry_id(&Visitor::known(&uuid).expect("valid"));
    for token in [anonymous, same_name] {
        assert!(is_owner(&ids(), token, &uuid).expect("valid"));
        assert!(!is_owner(&ids(), token, "ada").expect("valid"));
    }
    assert!(is_owner(&ids(), anonymous, "a\nb").is_err());
}

#[test]
fn cookie_is_read_only_under_its_exact_name() {
    let uuid = Uuid::new_v4().to_string();
    let read = |text: String, name| {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(&text).expect("ASCII"));
        read_visitor_cookie(&headers, name).is_some()
    };
    assert!(read(format!("a=b; {COOKIE_NAME}={uuid}"), COOKIE_NAME));
    assert!(
        !read(format!("a=b; {COOKIE_NAME_LOCAL}={uuid}"), COOKIE_NAME),
        "any site of the domain may set a cookie without the prefix"
    );
    assert!(!read(format!("{COOKIE_NAME}={uuid}"), COOKIE_NAME_LOCAL));
    assert!(!read(format!("{COOKIE_NAME}=\"{uuid}"), COOKIE_NAME));
}

#[test]
fn cookie_over_tls_is_secure_and_host_only() {
    let visitor = random_visitor();
    let over_tls = build_visitor_cookie(&visitor, false);
    let text = over_tls.to_str().expect("ASCII");
    assert!(
        text.starts_with(COOKIE_NAME) && text.contains("Secure") && !text.contains("Domain"),
        "{text}"
    );
    assert!(over_tls.is_sensitive());
    assert!(
        !build_visitor_cookie(&visitor, true)
            .to_str()
            .expect("ASCII")
            .contains("Secure")
    );
}
