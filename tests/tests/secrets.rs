//! Keys that no person handles: Secrets Manager creates them, the configuration of a function names them, and the
//! function fetches them when it starts.

use aws_config::SdkConfig;
use aws_sdk_secretsmanager::{Client, primitives::Blob};
use uuid::Uuid;
use vestibule_api::config::Keys;
use vestibule_domain::key_ring::RotationTimes;
use vestibule_runtime::config::{KeysConfig, RootKeyConfig, SigningKeysConfig};
use vestibule_telemetry::variables::ConfigErrors;
use vestibule_tests::servers::{closed_port_url, dynamodb_url};

const ROOT: &str = "VESTIBULE_ROOT_KEY_SECRET";
const SIGNING: &str = "VESTIBULE_SIGNING_KEY_SECRET";

/// A client of Secrets Manager. Its emulator has the same address as that of DynamoDB.
struct TestSecrets {
    url: String,
    aws: SdkConfig,
    client: Client,
}

impl TestSecrets {
    async fn new() -> Self {
        let url = dynamodb_url();
        let aws = vestibule_aws::load_config([Some(url.as_str())]).await;
        let client = Client::new(&vestibule_aws::config_for_endpoint(&aws, Some(&url)));
        Self { url, aws, client }
    }

    /// Creates a secret with a fresh name and returns its ARN.
    async fn create_secret(&self, text: &str) -> String {
        let secret = self
            .client
            .create_secret()
            .name(format!("test/{}", Uuid::new_v4()))
            .secret_string(text);
        secret.send().await.expect("created").arn.expect("an ARN")
    }

    /// Generates a text as a deployment does: 64 letters and digits from Secrets Manager.
    async fn generate(&self) -> String {
        let generated = self
            .client
            .get_random_password()
            .password_length(64)
            .exclude_punctuation(true);
        generated
            .send()
            .await
            .expect("generated")
            .random_password
            .expect("a text")
    }

    /// Reads the configuration of a function that names these secrets, and fetches the keys.
    async fn fetch_keys(&self, root: &str, signing: &str) -> Result<Keys, ConfigErrors> {
        let vars = |name: &str| match name {
            ROOT => Some(root.to_owned()),
            SIGNING => Some(signing.to_owned()),
            "VESTIBULE_SECRETS_ENDPOINT" => Some(self.url.clone()),
            "VESTIBULE_ISSUER" => Some("https://wait.example".to_owned()),
            _ => None,
        };
        KeysConfig::read(&vars)?.fetch(&self.aws).await
    }
}

#[tokio::test]
async fn generated_secrets_give_the_same_keys_to_each_function() {
    let secrets = TestSecrets::new().await;
    let (root, signing) = (secrets.generate().await, secrets.generate().await);
    assert_eq!((root.len(), signing.len()), (64, 64));
    let (root, signing) = (
        secrets.create_secret(&root).await,
        secrets.create_secret(&signing).await,
    );
    let first = secrets.fetch_keys(&root, &signing).await.expect("starts");
    let second = secrets.fetch_keys(&root, &signing).await.expect("starts");
    assert_eq!(
        first.passes.jwks(),
        second.passes.jwks(),
        "every function publishes the same key"
    );

    let other = secrets.create_secret(&secrets.generate().await).await;
    let other = secrets.fetch_keys(&root, &other).await.expect("starts");
    assert_ne!(first.passes.jwks(), other.passes.jwks());
}

#[tokio::test]
async fn secret_can_be_named_by_name_instead_of_arn() {
    let secrets = TestSecrets::new().await;
    let arn = secrets.create_secret(&"7".repeat(64)).await;
    let described = secrets
        .client
        .describe_secret()
        .secret_id(&arn)
        .send()
        .await
        .expect("described");
    let vars = |name: &str| match name {
        ROOT => described.name.clone(),
        "VESTIBULE_SECRETS_ENDPOINT" => Some(secrets.url.clone()),
        _ => None,
    };
    RootKeyConfig::read(&vars)
        .expect("read")
        .fetch(&secrets.aws)
        .await
        .expect("fetched");
}

/// The function `admin` writes the key ring, and every function reads it.
#[tokio::test]
async fn a_rotated_secret_publishes_both_keys() {
    let secrets = TestSecrets::new().await;
    let root = secrets.create_secret(&secrets.generate().await).await;
    let signing = secrets.create_secret(&secrets.generate().await).await;
    let before = secrets
        .fetch_keys(&root, &signing)
        .await
        .expect("starts")
        .passes
        .jwks();
    let vars = |name: &str| match name {
        SIGNING => Some(signing.clone()),
        "VESTIBULE_SECRETS_ENDPOINT" => Some(secrets.url.clone()),
        _ => None,
    };
    let store = SigningKeysConfig::read(&vars)
        .expect("read")
        .connect(&secrets.aws)
        .store;
    let times = RotationTimes {
        key_cache_seconds: 300,
        pass_seconds_max: 3_600,
    };
    let ring = store.read().await.expect("one key");
    let rotated = ring
        .rotate("7".repeat(64), vestibule_telemetry::clock::now_ms(), times)
        .expect("rotated");
    store.write(&rotated).await.expect("written");
    assert_eq!(store.read().await.expect("a ring"), rotated);
    let after = secrets
        .fetch_keys(&root, &signing)
        .await
        .expect("starts")
        .passes
        .jwks();
    assert_eq!((before.keys.len(), after.keys.len()), (1, 2));
    assert_eq!(after.keys[0], before.keys[0], "the old key is still published");
}

#[tokio::test]
async fn unusable_secret_is_named_and_never_shown() {
    let secrets = TestSecrets::new().await;
    let good = secrets.create_secret(&secrets.generate().await).await;
    let wrong = secrets.create_secret("hunter2!").await;
    let blank = secrets.create_secret(" ").await;
    let binary = secrets
        .client
        .create_secret()
        .name(format!("test/{}", Uuid::new_v4()));
    let binary = binary
        .secret_binary(Blob::new(*b"hunter2!"))
        .send()
        .await
        .expect("created")
        .arn
        .expect("an ARN");
    for (root, signing, named, reason) in [
        (
            "test/does-not-exist",
            good.as_str(),
            ROOT,
            "names no secret: ResourceNotFoundException",
        ),
        (
            &good,
            "test/does-not-exist",
            SIGNING,
            "names no secret: ResourceNotFoundException",
        ),
        (&wrong, &good, ROOT, "neither base64 nor hex"),
        (&good, &wrong, SIGNING, "does not serve"),
        (&blank, &good, ROOT, "without text"),
        (&good, &binary, SIGNING, "without text"),
    ] {
        let error = secrets.fetch_keys(root, signing).await.expect_err(reason);
        assert_eq!(error.names(), [named], "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn unreachable_secrets_manager_is_an_error() {
    let mut secrets = TestSecrets::new().await;
    secrets.url = closed_port_url();
    let error = secrets
        .fetch_keys("root", "signing")
        .await
        .expect_err("no server answers");
    assert_eq!(error.names(), [ROOT, SIGNING], "{error}");
    assert!(
        error.to_string().starts_with(&format!("{ROOT} cannot be read")),
        "{error}"
    );
}
