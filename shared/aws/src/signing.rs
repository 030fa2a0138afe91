//! Signs requests by AWS Signature Version 4, for calls that no SDK sends.

use std::{error::Error, time::SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4::SigningParams,
};

use crate::error_chain;

/// A request without a signature.
#[derive(Debug, Clone)]
pub struct UnsignedRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The whole address, with the query.
    pub url: &'a str,
    /// The headers that the signature covers.
    pub headers: Vec<(&'a str, &'a str)>,
    /// The body.
    pub body: &'a [u8],
}

/// Returns the headers that sign a request for a service of a region. `service` is its name in signatures, such as
/// `execute-api`.
///
/// # Errors
/// The reason why the request cannot be signed.
pub fn signature_headers(
    credentials: &Credentials,
    region: &str,
    service: &str,
    request: &UnsignedRequest<'_>,
) -> Result<Vec<(String, String)>, String> {
    let to_reason = |error: &dyn Error| error_chain(error);
    let identity = credentials.clone().into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(SystemTime::now())
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| to_reason(&error))?;
    let headers = request.headers.iter().copied();
    let body = SignableBody::Bytes(request.body);
    let signed = SignableRequest::new(request.method, request.url, headers, body)
        .and_then(|request| sign(request, &params.into()))
        .map_err(|error| to_reason(&error))?;
    let (instructions, _) = signed.into_parts();
    let headers = instructions.headers();
    Ok(headers
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_its_service_and_covers_the_given_headers() {
        let credentials = Credentials::new("AKID", "secret", Some("session".to_owned()), None, "test");
        let request = UnsignedRequest {
            method: "POST",
            url: "https://api.example/queues/a?b=c",
            headers: vec![("content-type", "application/json")],
            body: b"{}",
        };
        let headers =
            signature_headers(&credentials, "eu-central-1", "execute-api", &request).expect("signed");
        let value = |wanted: &str| {
            let header = headers.iter().find(|(name, _)| name == wanted);
            header.map_or("", |(_, value)| value.as_str())
        };
        let authorization = value("authorization");
        assert!(
            authorization.contains("/eu-central-1/execute-api/aws4_request"),
            "{authorization}"
        );
        assert!(authorization.contains("content-type;host"), "{authorization}");
        assert_eq!(value("x-amz-security-token"), "session");
    }
}
