//! What is deployed, held to the code: `template.yaml` and `infra/openapi.yaml`.

mod answers;
mod permissions;
mod resources;
mod routes;
