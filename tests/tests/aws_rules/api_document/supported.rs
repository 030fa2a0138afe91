//! What a document may have that API Gateway imports.
//!
//! AWS lists what the import does not support: "Amazon API Gateway important notes for REST APIs",
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html>, read in a copy of 2026.
//! These lists name the rest, so that a keyword of which AWS says nothing is found, too:
//!
//! | AWS does not support | rule |
//! | --- | --- |
//! | `example`, `nullable`, `discriminator`, `readOnly`, `default`, `exclusiveMinimum`, `deprecated` | [`MODEL`], [`OPERATION`], [`PARAMETER`] |
//! | `minItems` and `maxItems` in the validation of requests; `oneOf` for SDKs; `allOf` and `anyOf` with `$ref` | [`MODEL`] has none of them |
//! | JSON schema later than draft 4; formats such as `int32`, `int64` and `decimal` | [`MODEL`], [`TYPES`], [`FORMATS`] |
//! | attributes of a parameter other than name, in, required, type and description | [`PARAMETER`] |
//! | references to `#/responses`, primitive types in responses | [`OPERATION`] and [`COMPONENTS`] have no responses |
//! | `$ref` to other files | a reference is to a parameter or a schema of the document |
//! | security at the root; schemes of another type than `apiKey` | [`ROOT`], each operation has security, `check_scheme` |
//! | characters of paths and model names; the paths `/ping` and `/sping` | `check_path`, `check_model` |
//! | an own response for 413 `REQUEST_TOO_LARGE` | [`GATEWAY_RESPONSES`] has no such type |

pub(super) const VALIDATOR: &str = "x-amazon-apigateway-request-validator";
pub(super) const VALIDATORS: &str = "x-amazon-apigateway-request-validators";
pub(super) const INTEGRATION: &str = "x-amazon-apigateway-integration";
pub(super) const RESPONSES: &str = "x-amazon-apigateway-gateway-responses";

pub(super) const ROOT: &[&str] = &[
    "openapi",
    "info",
    "paths",
    "components",
    VALIDATOR,
    VALIDATORS,
    RESPONSES,
];
pub(super) const METHODS: &[&str] = &["get", "put", "post", "delete", "patch", "head", "options"];
/// A proxy integration passes every answer on, so an operation has no responses.
pub(super) const OPERATION: &[&str] = &[
    "operationId",
    "tags",
    "summary",
    "description",
    "security",
    "parameters",
    "requestBody",
    VALIDATOR,
    INTEGRATION,
];
/// In `OpenAPI` 3, `schema` has the type.
pub(super) const PARAMETER: &[&str] = &["name", "in", "required", "description", "schema"];
pub(super) const BODY: &[&str] = &["required", "description", "content"];
pub(super) const COMPONENTS: &[&str] = &["securitySchemes", "parameters", "schemas"];
pub(super) const SCHEME: &[&str] = &[
    "type",
    "in",
    "name",
    "x-amazon-apigateway-authtype",
    "x-amazon-apigateway-authorizer",
];

/// The keywords of JSON schema draft 4 that API Gateway supports in the validation of requests.
pub(super) const MODEL: &[&str] = &[
    "$ref",
    "type",
    "title",
    "description",
    "enum",
    "not",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
    "items",
    "uniqueItems",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
];
pub(super) const TYPES: &[&str] = &[
    "object", "array", "string", "integer", "number", "boolean", "null",
];
pub(super) const FORMATS: &[&str] = &["date-time", "email", "hostname", "ipv4", "ipv6", "uri"];

/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html>, without
/// `REQUEST_TOO_LARGE`.
pub(super) const GATEWAY_RESPONSES: &[&str] = &[
    "ACCESS_DENIED",
    "API_CONFIGURATION_ERROR",
    "AUTHORIZER_CONFIGURATION_ERROR",
    "AUTHORIZER_FAILURE",
    "BAD_REQUEST_BODY",
    "BAD_REQUEST_PARAMETERS",
    "DEFAULT_4XX",
    "DEFAULT_5XX",
    "EXPIRED_TOKEN",
    "INTEGRATION_FAILURE",
    "INTEGRATION_TIMEOUT",
    "INVALID_API_KEY",
    "INVALID_SIGNATURE",
    "MISSING_AUTHENTICATION_TOKEN",
    "QUOTA_EXCEEDED",
    "RESOURCE_NOT_FOUND",
    "THROTTLED",
    "UNAUTHORIZED",
    "UNSUPPORTED_MEDIA_TYPE",
    "WAF_FILTERED",
];
/// The variables that a gateway response may insert.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html>
pub(super) const CONTEXT: &[&str] = &[
    "accountId",
    "apiId",
    "awsEndpointRequestId",
    "deploymentId",
    "domainName",
    "domainPrefix",
    "error.message",
    "error.messageString",
    "error.responseType",
    "error.validationErrorString",
    "extendedRequestId",
    "httpMethod",
    "identity.sourceIp",
    "identity.userAgent",
    "path",
    "protocol",
    "requestId",
    "requestTime",
    "requestTimeEpoch",
    "resourcePath",
    "stage",
    "wafResponseCode",
    "webaclArn",
];
