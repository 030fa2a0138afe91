use super::*;

fn id_key(queue: &str, salt: u8) -> IdKey {
    let root = RootKey::new(vec![7; 32]).expect("long enough");
    let salt = Salt::new([salt; 32]);
    IdKey::derive_for_queue(&root, &queue.parse().expect("a queue id"), &salt).expect("any key")
}

#[test]
fn a_salt_is_used_with_its_own_root_key_alone() {
    let [own, other] = [7, 8].map(|byte| RootKey::new(vec![byte; 32]).expect("long enough"));
    let queue = "a".parse().expect("a queue id");
    let derive = |root: &RootKey, salt: Salt| IdKey::derive_for_queue(root, &queue, &salt);
    let salt = Salt::new([1; 32]);
    assert!(derive(&own, salt).is_ok() && derive(&other, salt).is_ok());
    let salt = salt.with_root(Some(own.fingerprint()));
    let ada = Visitor::known("ada").expect("valid");
    let key = derive(&own, salt).expect("its own key");
    assert_eq!(
        key.entry_id(&ada),
        id_key("a", 1).entry_id(&ada),
        "the fingerprint changes no id"
    );
    let refused = derive(&other, salt).expect_err("another key");
    assert_eq!(
        (refused.stored, refused.present),
        (own.fingerprint(), other.fingerprint())
    );
}

#[test]
fn a_fingerprint_tells_keys_apart_and_shows_none() {
    let keys = [vec![7; 32], vec![8; 32], vec![7; 33]].map(|key| RootKey::new(key).expect("long enough"));
    let [first, second, third] = keys.map(|key| key.fingerprint());
    assert!(first != second && first != third);
    assert_eq!(first.to_string().parse(), Ok(first));
    // Python: hmac.new(bytes([7] * 32), b"vestibule root key fingerprint", "sha256").digest()[:8], in base64url.
    assert_eq!(first.to_string(), "ZTkFgA1vdq0");
    for wrong in ["", "AAAA", "AAAAAAAAAAA=", "AAAAAAAAAAAA"] {
        assert_eq!(
            wrong.parse::<RootFingerprint>(),
            Err(InvalidFingerprint),
            "{wrong}"
        );
    }
}

#[test]
fn the_id_depends_on_visitor_queue_and_salt_alone() {
    let key_a = id_key("a", 1);
    let ada = Visitor::known("ada").expect("valid");
    assert_eq!(key_a.entry_id(&ada), key_a.entry_id(&ada.clone()));
    assert_ne!(
        key_a.entry_id(&ada),
        key_a.entry_id(&Visitor::known("bob").expect("valid"))
    );
    assert_ne!(
        key_a.entry_id(&ada),
        id_key("b", 1).entry_id(&ada),
        "another queue"
    );
    assert_ne!(
        key_a.entry_id(&ada),
        id_key("a", 2).entry_id(&ada),
        "another salt, as after a reset"
    );
}

#[test]
fn known_and_anonymous_visitors_never_share_an_id() {
    let uuid = Uuid::new_v4();
    let anon = id_key("a", 1).entry_id(&Visitor::from_random(uuid));
    let known = id_key("a", 1).entry_id(&Visitor::known(&uuid.to_string()).expect("valid"));
    assert_ne!(anon, known);
    assert_eq!(
        (anon.kind(), known.kind()),
        (VisitorKind::Anon, VisitorKind::Known)
    );
}

#[test]
fn an_id_round_trips_through_text_and_member() {
    let id = id_key("a", 1).entry_id(&Visitor::known("ada").expect("valid"));
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!(EntryId::from_member(&id.to_member()), Ok(id));
    assert_eq!(id.to_member().len(), 22);
    assert_eq!(&id.to_string()[14..15], "8");
}

#[test]
fn invalid_ids_are_refused() {
    for bad in ["", "-a", "a b", "a{b}", "a\n", "ü", &"a".repeat(129)] {
        assert_eq!(bad.parse::<QueueId>(), Err(IdError::Queue), "{bad:?}");
    }
    for good in ["TIMEDEAL:123", "0", "a._:-", &"a".repeat(128)] {
        assert_eq!(good.parse::<QueueId>().expect("valid").as_str(), good);
    }
    for bad in [
        "",
        "x",
        "0f8fad5bd9cb869fa16570867728950e",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
    ] {
        assert_eq!(bad.parse::<EntryId>(), Err(IdError::Token), "{bad:?}");
    }
    assert_eq!(Visitor::known("a\nb"), Err(IdError::Visitor));
    assert_eq!(Visitor::known(&"a".repeat(257)), Err(IdError::Visitor));
    for blank in [" ", " ada", "ada ", "ada\u{a0}", "\u{3000}ada"] {
        assert_eq!(Visitor::known(blank), Err(IdError::VisitorBlank), "{blank:?}");
    }
    assert!(Visitor::known("Ada Lovelace").is_ok());
    assert_eq!(Visitor::anonymous("ada"), Err(IdError::Anonymous));
    assert_eq!(
        Visitor::anonymous("0f8fad5b-d9cb-869f-a165-70867728950e"),
        Err(IdError::Anonymous)
    );
}

#[test]
fn debug_output_hides_the_visitor_id() {
    let shown = format!("{:?}", Visitor::known("ada@example.com").expect("valid"));
    assert!(!shown.contains("ada"), "{shown}");
}

#[test]
fn a_secret_proves_its_entry_in_its_generation_alone() {
    let key = id_key("a", 1);
    for visitor in [
        Visitor::known("ada").expect("valid"),
        Visitor::from_random(Uuid::new_v4()),
    ] {
        let entry = key.entry_id(&visitor);
        let secret = key.visitor_secret(entry);
        assert_eq!(key.verify_secret(secret.reveal()), Some(entry));
        assert_eq!(key.visitor_secret(entry), secret, "it is always the same");
        for other in [id_key("b", 1), id_key("a", 2)] {
            assert_eq!(other.verify_secret(secret.reveal()), None);
        }
        assert!(!format!("{secret:?}").contains(secret.reveal()));
        assert!(Visitor::anonymous(secret.reveal()).is_err());
    }
}

#[test]
fn an_altered_secret_proves_nothing() {
    let key = id_key("a", 1);
    let entry = key.entry_id(&Visitor::known("ada").expect("valid"));
    let secret = key.visitor_secret(entry).reveal().to_owned();
    for place in 0..secret.len() {
        let mut altered = secret.clone().into_bytes();
        altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(altered).expect("ASCII");
        assert_eq!(key.verify_secret(&altered), None, "{place}");
    }
    for length in 0..secret.len() {
        assert_eq!(key.verify_secret(&secret[..length]), None, "{length}");
    }
    for bad in [
        format!("{secret}A"),
        format!("{secret}="),
        entry.to_string(),
        entry.to_member(),
    ] {
        assert_eq!(key.verify_secret(&bad), None, "{bad}");
    }
    let bob = key.entry_id(&Visitor::known("bob").expect("valid"));
    let bobs = key.visitor_secret(bob).reveal().to_owned();
    let mixed = format!("{}{}", &secret[..26], &bobs[26..]);
    assert_eq!(key.verify_secret(&mixed), None);
}
