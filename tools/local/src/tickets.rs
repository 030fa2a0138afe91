//! Test tickets: the runner plays the shop that signs them.

use std::{fs, path::Path};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_api::pass::{PassSigner, new_key_pem};

use crate::{
    cli::TicketRequest,
    error::StartError,
    keys::{KeyError, load_or_create_key},
};

/// The file of the key, as PEM.
const KEY_FILE: &str = "ticket-es256.pem";

/// The private key of a folder, which signs tickets.
pub(crate) struct TicketKey {
    key: EncodingKey,
    key_id: String,
    public: Value,
}

impl TicketKey {
    /// Reads the key of the folder, or creates it.
    pub(crate) fn load_or_create(dir: &Path) -> Result<Self, KeyError> {
        let path = dir.join(KEY_FILE);
        let pem = load_or_create_key(&path, || new_key_pem(rand::random).into_bytes())?;
        let invalid = || KeyError::Ticket(path.clone());
        let text = str::from_utf8(&pem).map_err(|_| invalid())?;
        let signer = PassSigner::from_pem("", text).map_err(|_| invalid())?;
        Ok(Self {
            key: EncodingKey::from_ec_pem(&pem).map_err(|_| invalid())?,
            key_id: signer.key_id().to_owned(),
            public: serde_json::to_value(signer.public_key()).map_err(|_| invalid())?,
        })
    }

    /// The public key as a JWK set, which the setting `ticket_keys` takes.
    pub(crate) fn to_jwk_set(&self) -> Value {
        json!({ "keys": [self.public] })
    }

    /// Signs a ticket that is issued at `now_ms`, in Unix milliseconds.
    fn sign(&self, request: &TicketRequest, now_ms: u64) -> Result<String, jsonwebtoken::errors::Error> {
        let now = now_ms / 1_000;
        let mut claims = json!({
            "sub": request.sub,
            "aud": request.queue.as_str(),
            "iat": now,
            "exp": now + u64::from(request.expires_in),
            "jti": Uuid::new_v4(),
        });
        if let Some(lane) = request.lane {
            claims["lane"] = json!(lane);
        }
        if request.bypass {
            claims["bypass"] = json!(true);
        }
        let header = Header {
            kid: Some(self.key_id.clone()),
            ..Header::new(Algorithm::ES256)
        };
        encode(&header, &claims, &self.key)
    }
}

/// Prints a ticket or the public key to standard output.
pub(crate) fn print_ticket(dir: &Path, request: &TicketRequest) -> Result<(), StartError> {
    fs::create_dir_all(dir).map_err(|error| StartError::Folder(dir.to_owned(), error))?;
    let key = TicketKey::load_or_create(dir)?;
    if request.keys {
        println!("{}", key.to_jwk_set());
    } else {
        let ticket = key.sign(request, vestibule_telemetry::clock::now_ms());
        println!("{}", ticket.map_err(|_| KeyError::Ticket(dir.join(KEY_FILE)))?);
    }
    Ok(())
}
