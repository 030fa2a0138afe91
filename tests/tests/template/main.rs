//! Compares what is deployed, `template.yaml` and `infra/openapi.yaml`, with the code.

mod answers;
mod declarations;
mod permissions;
mod resources;
mod routes;
