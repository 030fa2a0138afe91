use super::*;

fn error(url: &str) -> AddressError {
    Address::parse(url).err().unwrap_or_else(|| panic!("{url}"))
}

#[test]
fn server_and_cluster_addresses_are_parsed() {
    for (url, is_cluster, nodes) in [
        ("redis://cache:6379", false, &["redis://cache:6379"][..]),
        (
            "rediss://app:se,cret@cache/3",
            false,
            &["rediss://app:se,cret@cache/3"],
        ),
        ("rediss+cluster://cache:6379", true, &["rediss://cache:6379"]),
        (
            "redis+cluster://app:secret@a:1,b:2,[::1]:3?protocol=resp3",
            true,
            &[
                "redis://app:secret@a:1?protocol=resp3",
                "redis://app:secret@b:2?protocol=resp3",
                "redis://app:secret@[::1]:3?protocol=resp3",
            ],
        ),
    ] {
        let address = Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(address.nodes, nodes);
        assert_eq!(address.is_cluster, is_cluster, "{url}");
        assert_eq!(address.authorities, None, "{url}");
    }
}

#[test]
fn malformed_address_is_refused() {
    for url in [
        "",
        "cache:6379",
        "http://cache",
        "redis://",
        "redis+cluster://a:1,",
        "redis://a:b",
    ] {
        assert_eq!(error(url), AddressError::Malformed, "{url}");
    }
    assert_eq!(error("redis://a:1,b:2"), AddressError::MultipleServers);
    assert_eq!(
        error("redis://a:1?ca_file=/ca.pem"),
        AddressError::CaFileWithoutTls
    );
}

#[test]
fn ca_file_without_certificate_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let path = folder.path().join("a b.pem");
    // The `+` is a space, as in an encoded form.
    let url = format!(
        "rediss+cluster://cache?ca_file={}/a+b.pem",
        folder.path().display()
    );
    assert!(matches!(error(&url), AddressError::CaFileUnreadable { .. }));
    std::fs::write(&path, "-----BEGIN PRIVATE KEY-----").expect("the file can be written");
    assert!(matches!(
        error(&url),
        AddressError::CaFileWithoutCertificate { .. }
    ));
    std::fs::write(&path, CERTIFICATE_HEADER).expect("the file can be written");
    let address = Address::parse(&url).expect("an address with a certificate is valid");
    assert_eq!(
        address.authorities.as_deref(),
        Some(CERTIFICATE_HEADER.as_bytes())
    );
}

#[test]
fn address_error_shows_no_password() {
    for url in [
        "redis://app:secret@a,b",
        "rediss://app:secret@a?ca_file=/no/such",
        "gopher://app:secret@a",
    ] {
        assert!(!error(url).to_string().contains("secret"), "{url}");
    }
}
