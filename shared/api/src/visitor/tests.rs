use uuid::Uuid;
use vestibule_domain::id::{RootKey, Salt};

use super::*;

fn ids() -> IdKey {
    let root = RootKey::new(vec![7; 32]).expect("long enough");
    IdKey::derive(&root, &"a".parse().expect("a queue id"), &Salt::new([1; 32]))
}

fn known(id: &str) -> Visitor {
    Visitor::known(id).expect("valid")
}

fn somebody() -> Visitor {
    Visitor::from_random(Uuid::new_v4())
}

#[test]
fn the_kind_of_a_token_picks_the_credential() {
    let (ada, bob) = (Some(known("ada")), Some(known("bob")));
    let (guest, other) = (Some(somebody()), Some(somebody()));
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
fn the_service_names_a_visitor_of_the_tokens_kind() {
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
fn a_cookie_is_read_by_its_whole_name() {
    let uuid = Uuid::new_v4().to_string();
    let read = |text: String, name| {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(&text).expect("ASCII"));
        cookie(&headers, name).is_some()
    };
    assert!(read(format!("a=b; {COOKIE}={uuid}"), COOKIE));
    assert!(
        !read(format!("a=b; {COOKIE_LOCAL}={uuid}"), COOKIE),
        "any site of the domain may set a cookie without the prefix"
    );
    assert!(!read(format!("{COOKIE}={uuid}"), COOKIE_LOCAL));
    assert!(!read(format!("{COOKIE}=\"{uuid}"), COOKIE));
}

#[test]
fn a_cookie_is_bound_to_its_host() {
    let visitor = somebody();
    let over_tls = set_cookie(&visitor, false);
    let text = over_tls.to_str().expect("ASCII");
    assert!(
        text.starts_with(COOKIE) && text.contains("Secure") && !text.contains("Domain"),
        "{text}"
    );
    assert!(over_tls.is_sensitive());
    assert!(
        !set_cookie(&visitor, true)
            .to_str()
            .expect("ASCII")
            .contains("Secure")
    );
}
