use uuid::Uuid;

use super::*;

fn random_visitor() -> Visitor {
    Visitor::from_random(Uuid::new_v4())
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
