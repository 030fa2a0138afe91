//! Compares what is deployed, `template.yaml` and `infra/openapi.yaml`, with the code.

mod answers;
mod permissions;
mod resources;
mod routes;
