//! Keys that nobody ever handles: made in Secrets Manager, named in a function's configuration, fetched when it starts.

use aws_config::SdkConfig;
use aws_sdk_secretsmanager::{Client, primitives::Blob};
use uuid::Uuid;
use vestibule_api::config::Keys;
use vestibule_runtime::config::{ConfigError, KeysConfig, RootKeyConfig};
use vestibule_tests::servers::{closed_port_url, dynamodb_url};

const ROOT: &str = "VESTIBULE_ROOT_KEY_SECRET";
const SIGNING: &str = "VESTIBULE_SIGNING_KEY_SECRET";

/// Secrets Manager, whose emulator listens where that of the tables does.
struct Vault {
    url: String,
    aws: SdkConfig,
    client: Client,
}

impl Vault {
    async fn new() -> Self {
        let url = dynamodb_url();
        let aws = vestibule_aws::load_config([Some(url.as_str())]).await;
        let client = Client::new(&vestibule_aws::config_for_endpoint(&aws, Some(&url)));
        Self { url, aws, client }
    }

    /// Keeps a text under a name of its own; gives its ARN.
    async fn keep(&self, text: &str) -> String {
        let secret = self
            .client
            .create_secret()
            .name(format!("test/{}", Uuid::new_v4()))
            .secret_string(text);
        secret.send().await.expect("kept").arn.expect("an ARN")
    }

    /// What a deployment makes: 64 letters and digits, by the service itself.
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

    /// The configuration of a function with these secrets, read and fetched.
    async fn start(&self, root: &str, signing: &str) -> Result<Keys, ConfigError> {
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
async fn generated_secrets_are_keys_of_a_deployment() {
    let vault = Vault::new().await;
    let (root, signing) = (vault.generate().await, vault.generate().await);
    assert_eq!((root.len(), signing.len()), (64, 64));
    let (root, signing) = (vault.keep(&root).await, vault.keep(&signing).await);
    let first = vault.start(&root, &signing).await.expect("starts");
    let second = vault.start(&root, &signing).await.expect("starts");
    assert_eq!(
        first.signer.jwks(),
        second.signer.jwks(),
        "every function publishes the same key"
    );

    let other = vault.keep(&vault.generate().await).await;
    let other = vault.start(&root, &other).await.expect("starts");
    assert_ne!(first.signer.jwks(), other.signer.jwks());
}

#[tokio::test]
async fn a_secret_may_be_named_without_its_arn() {
    let vault = Vault::new().await;
    let arn = vault.keep(&"7".repeat(64)).await;
    let described = vault
        .client
        .describe_secret()
        .secret_id(&arn)
        .send()
        .await
        .expect("described");
    let vars = |name: &str| match name {
        ROOT => described.name.clone(),
        "VESTIBULE_SECRETS_ENDPOINT" => Some(vault.url.clone()),
        _ => None,
    };
    RootKeyConfig::read(&vars)
        .expect("read")
        .fetch(&vault.aws)
        .await
        .expect("fetched");
}

#[tokio::test]
async fn what_is_wrong_with_a_secret_is_named_and_never_shown() {
    let vault = Vault::new().await;
    let good = vault.keep(&vault.generate().await).await;
    let wrong = vault.keep("hunter2!").await;
    let blank = vault.keep(" ").await;
    let binary = vault
        .client
        .create_secret()
        .name(format!("test/{}", Uuid::new_v4()));
    let binary = binary
        .secret_binary(Blob::new(*b"hunter2!"))
        .send()
        .await
        .expect("kept")
        .arn
        .expect("an ARN");
    for (root, signing, named, says) in [
        (
            "test/nobody-made-it",
            good.as_str(),
            ROOT,
            "names no secret: ResourceNotFoundException",
        ),
        (
            &good,
            "test/nobody-made-it",
            SIGNING,
            "names no secret: ResourceNotFoundException",
        ),
        (&wrong, &good, ROOT, "neither base64 nor hex"),
        (&good, &wrong, SIGNING, "does not serve"),
        (&blank, &good, ROOT, "without text"),
        (&good, &binary, SIGNING, "without text"),
    ] {
        let error = vault.start(root, signing).await.expect_err(says);
        assert_eq!(error.name, named, "{error}");
        assert!(error.reason.contains(says), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn a_service_that_is_away_is_an_error_and_not_a_wait() {
    let mut vault = Vault::new().await;
    vault.url = closed_port_url();
    let error = vault.start("root", "signing").await.expect_err("nobody listens");
    assert!([ROOT, SIGNING].contains(&error.name), "{error}");
    assert!(error.reason.starts_with("cannot be read"), "{error}");
}
