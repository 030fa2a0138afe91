use uuid::Uuid;
use vestibule_domain::id::{RootKey, Salt};

use super::*;

fn ids() -> IdKey {
    let root = RootKey::new(vec![7; 32]).expect("long enough");
    IdKey::derive_for_queue(&root, &"a".parse().expect("a queue id"), &Salt::new([1; 32]))
        .expect("the key of the salt")
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
            secret: None,
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
fn a_secret_proves_its_entry_unless_a_verified_name_differs() {
    let (ada, bob) = (Some(known("ada")), Some(known("bob")));
    let (guest, other) = (Some(random_visitor()), Some(random_visitor()));
    let token = |visitor: &Option<Visitor>| ids().entry_id(visitor.as_ref().expect("a visitor"));
    let (adas, guests) = (token(&ada), token(&guest));
    let (of_ada, of_guest) = (Secret::Of(adas), Secret::Of(guests));
    for (token, secret, known, cookie, expected) in [
        (adas, of_ada, &None, &None, Ownership::Proven),
        (adas, of_ada, &ada, &None, Ownership::Proven),
        (adas, of_ada, &bob, &None, Ownership::Mismatch),
        (adas, of_guest, &None, &None, Ownership::Mismatch),
        (adas, of_guest, &ada, &None, Ownership::Proven),
        (adas, Secret::Void, &None, &None, Ownership::Mismatch),
        (guests, of_guest, &None, &None, Ownership::Proven),
        (guests, of_guest, &bob, &other, Ownership::Proven),
        (guests, of_ada, &None, &None, Ownership::Mismatch),
        (guests, of_ada, &None, &guest, Ownership::Proven),
        (guests, Secret::Void, &None, &other, Ownership::Mismatch),
    ] {
        let credentials = Credentials {
            known: known.clone(),
            anonymous: None,
            cookie: cookie.clone(),
            secret: Some(secret),
        };
        assert_eq!(credentials.ownership(&ids(), token), expected, "{credentials:?}");
    }
}

#[test]
fn a_service_may_name_the_visitor_by_the_secret() {
    let uuid = Visitor::from_random(Uuid::new_v4());
    for visitor in [known("ada"), uuid] {
        let token = ids().entry_id(&visitor);
        let secret = ids().visitor_secret(token);
        assert!(is_owner(&ids(), token, secret.reveal()).expect("valid"));
        let bobs = ids().visitor_secret(ids().entry_id(&known("bob")));
        assert!(!is_owner(&ids(), token, bobs.reveal()).expect("valid"));
    }
}
