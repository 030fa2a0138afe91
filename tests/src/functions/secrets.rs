//! The keys of a deployment in the emulator of Secrets Manager.

use aws_sdk_secretsmanager::Client;
use uuid::Uuid;
use vestibule_api::pass::new_key_pem;

use crate::servers::dynamodb_url;

/// The ARNs of the secrets of a deployment, by the key that each holds.
#[derive(Debug)]
pub(super) struct DeploymentSecrets {
    root: String,
    signing: String,
    origin: String,
}

impl DeploymentSecrets {
    /// Creates secrets with these keys and a random signing key.
    pub(super) async fn create(root_key: &str, origin_key: &str) -> Self {
        // The emulator of DynamoDB serves Secrets Manager at the same address.
        let address = dynamodb_url();
        let aws = vestibule_aws::load_config([Some(address.as_str())]).await;
        let client = Client::new(&vestibule_aws::config_for_endpoint(&aws, Some(&address)));
        Self {
            root: create_secret(&client, root_key).await,
            signing: create_secret(&client, &new_key_pem(rand::random)).await,
            origin: create_secret(&client, origin_key).await,
        }
    }

    /// The names of the secrets in the template, by their ARNs.
    pub(super) fn names_by_arn(&self) -> [(String, &'static str); 3] {
        [
            (self.root.clone(), "RootKeySecret"),
            (self.signing.clone(), "SigningKeySecret"),
            (self.origin.clone(), "OriginKeySecret"),
        ]
    }

    /// The variables that name the secrets of a function, as in the template.
    pub(super) fn variables(&self, function: &str, secrets_url: &str) -> Vec<(String, String)> {
        let mut variables = vec![("VESTIBULE_SECRETS_ENDPOINT", secrets_url)];
        if function != "promoter" {
            variables.push(("VESTIBULE_ROOT_KEY_SECRET", &self.root));
            variables.push(("VESTIBULE_SIGNING_KEY_SECRET", &self.signing));
        }
        if function == "enter" {
            variables.push(("VESTIBULE_ORIGIN_KEY_SECRET", &self.origin));
        }
        let owned = variables.into_iter();
        owned
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// Creates a secret with a fresh name, and returns its ARN.
async fn create_secret(client: &Client, text: &str) -> String {
    let secret = client
        .create_secret()
        .name(format!("test/{}", Uuid::new_v4()))
        .secret_string(text);
    let created = secret.send().await.expect("the secret is created");
    created.arn.expect("a secret has an ARN")
}
