use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use futures_util::{FutureExt, StreamExt};

use super::*;

/// 2026-09-01T12:00:00Z
const START: u64 = 1_788_264_000;

/// The expected tokens, without and with a session token. botocore made the signatures (1.43.127,
/// `SigV4QueryAuth` with its clock set) from the same request:
///
/// ```python
/// request = AWSRequest("GET", "http://vestibule-line/?Action=connect&User=vestibule-app&ResourceType=ServerlessCache")
/// credentials = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", session_token)
/// SigV4QueryAuth(credentials, "elasticache", "eu-central-1", expires=900).add_auth(request)
/// ```
const RECORDED: [(Option<&str>, &str); 2] = [
    (
        None,
        "vestibule-line/?Action=connect&User=vestibule-app&ResourceType=ServerlessCache\
         &X-Amz-Algorithm=AWS4-HMAC-SHA256\
         &X-Amz-Credential=AKIDEXAMPLE%2F20260901%2Feu-central-1%2Felasticache%2Faws4_request\
         &X-Amz-Date=20260901T120000Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host\
         &X-Amz-Signature=3f9c831e6485bcb4eefc73844a9e4e32fa50329f0377d74881d86ad49c7b69b1",
    ),
    (
        Some("AQoDYXdzEPT//////////wEXAMPLE+/="),
        "vestibule-line/?Action=connect&User=vestibule-app&ResourceType=ServerlessCache\
         &X-Amz-Algorithm=AWS4-HMAC-SHA256\
         &X-Amz-Credential=AKIDEXAMPLE%2F20260901%2Feu-central-1%2Felasticache%2Faws4_request\
         &X-Amz-Date=20260901T120000Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host\
         &X-Amz-Security-Token=AQoDYXdzEPT%2F%2F%2F%2F%2F%2F%2F%2F%2F%2FwEXAMPLE%2B%2F%3D\
         &X-Amz-Signature=46106fd4753fecb6414524238b4be8e5efcb4507e437b9d3aabed9c600e04e76",
    ),
];

fn login(session: Option<&str>, clock: &Arc<AtomicU64>) -> IamLogin {
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    let credentials = Credentials::new("AKIDEXAMPLE", secret, session.map(str::to_owned), None, "test");
    let aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    let user = IamUser {
        cache: "Vestibule-Line".to_owned(),
        user: "vestibule-app".to_owned(),
    };
    let clock = Arc::clone(clock);
    let now = move || SystemTime::UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::SeqCst));
    IamLogin::new(user, &aws)
        .expect("the configuration has credentials and a region")
        .with_clock(Arc::new(now))
}

/// Splits a token into its host and the set of its parameters. Their order has no meaning, because the
/// signature covers the sorted parameters.
fn parts(token: &str) -> (&str, BTreeSet<&str>) {
    let (host, query) = token.split_once("/?").expect("a token has a host and a query");
    (host, query.split('&').collect())
}

#[tokio::test]
async fn token_equals_the_one_that_botocore_signs() {
    for (session, recorded) in RECORDED {
        let token = login(session, &Arc::new(AtomicU64::new(START)))
            .create_token()
            .await;
        assert_eq!(parts(&token.expect("the token is signed")), parts(recorded));
    }
}

#[tokio::test]
async fn connection_with_old_login_in_use_logs_in_again() {
    let clock = Arc::new(AtomicU64::new(START));
    let login = login(None, &clock);
    let hours = |hours: u64| clock.store(START + hours * 3_600, Ordering::SeqCst);

    let mut connection = login.subscribe();
    let first = connection
        .next()
        .await
        .expect("the first login comes")
        .expect("it is signed");
    assert_eq!(first.username(), "vestibule-app");
    assert!(first.password().contains("X-Amz-Date=20260901T120000Z"));

    hours(5);
    login.record_use();
    assert!(
        connection.next().now_or_never().is_none(),
        "a login of five hours is not renewed"
    );
    hours(7);
    assert!(
        connection.next().now_or_never().is_none(),
        "an unused connection does not log in again"
    );
    login.record_use();
    let second = connection
        .next()
        .await
        .expect("a second login comes")
        .expect("it is signed");
    assert!(second.password().contains("X-Amz-Date=20260901T190000Z"));
    login.record_use();
    assert!(
        connection.next().now_or_never().is_none(),
        "the connection logs in again only once"
    );

    // A connection that opens after a long sleep gets a fresh token.
    hours(30);
    let later = login
        .subscribe()
        .next()
        .await
        .expect("the first login comes")
        .expect("it is signed");
    assert!(later.password().contains("X-Amz-Date=20260902T180000Z"));
}

#[test]
fn debug_output_shows_no_secret() {
    let shown = format!("{:?}", login(Some("SESSION"), &Arc::default()));
    assert!(shown.contains("vestibule-app"), "{shown}");
    assert!(!shown.contains("wJalr") && !shown.contains("SESSION"), "{shown}");
}
