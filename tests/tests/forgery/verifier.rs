//! A service that checks passes offline with the published keys, by the rules of `docs/integrating.md`. It shares no code
//! with the routes.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde::Deserialize;
use uuid::Uuid;
use vestibule_tests::{
    api::ApiRequest,
    in_process::{ISSUER, InProcessApi, QUEUE},
};

use super::jose::has_low_signature;

/// The claims that the service uses, and those of every pass.
#[derive(Deserialize)]
#[allow(dead_code)]
struct Claims {
    sub: Uuid,
    visit: u64,
    jti: Uuid,
    epoch: u32,
    iat: u64,
    exp: u64,
}

/// What a service knows that checks passes by itself.
pub(crate) struct OfflineVerifier {
    keys: Vec<(String, DecodingKey)>,
    min_epoch: u32,
    /// The clock of the API, in Unix seconds.
    now: u64,
}

impl OfflineVerifier {
    pub(crate) async fn read_keys(api: &InProcessApi) -> Self {
        let published = api.send(ApiRequest::get("/.well-known/jwks.json")).await;
        let keys: JwkSet = serde_json::from_value(published.body).expect("a key set");
        let keys = keys.keys.iter().map(|key| {
            let kid = key.common.key_id.clone().expect("a key id");
            (kid, DecodingKey::from_jwk(key).expect("a key"))
        });
        let document = api.send(ApiRequest::get(format!("/queues/{QUEUE}"))).await;
        Self {
            keys: keys.collect(),
            min_epoch: document.number("min_epoch").try_into().expect("an epoch"),
            now: api.now_ms() / 1_000,
        }
    }

    /// Accepts a pass, or says why not.
    pub(crate) fn verify(&self, pass: &str) -> Result<(), String> {
        let header = decode_header(pass).map_err(|error| error.to_string())?;
        if header.typ.as_deref() != Some("pass+jwt") {
            return Err("another type".to_owned());
        }
        let key = self.keys.iter().find(|(kid, _)| header.kid.as_ref() == Some(kid));
        let (_, key) = key.ok_or("an unknown key")?;
        let mut expected = Validation::new(Algorithm::ES256);
        expected.set_required_spec_claims(&["iss", "aud", "sub", "nbf", "exp"]);
        expected.set_audience(&[QUEUE]);
        expected.set_issuer(&[ISSUER]);
        // The clock of the API is not that of this process.
        (expected.validate_exp, expected.validate_nbf) = (false, false);
        let claims = decode::<Claims>(pass, key, &expected).map_err(|error| error.to_string())?;
        let claims = claims.claims;
        if !has_low_signature(pass) {
            return Err("the second spelling of a signature".to_owned());
        }
        if claims.exp <= self.now || claims.epoch < self.min_epoch {
            return Err("an earlier pass".to_owned());
        }
        Ok(())
    }
}
