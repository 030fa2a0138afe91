//! Compares what is deployed, `template.yaml` and `infra/openapi.yaml`, with the code.

mod alarms;
mod answers;
mod attack_costs;
mod authorizer;
mod cache;
mod cdn;
mod declarations;
mod documented_answers;
mod events;
mod isolation;
mod night;
mod problem_codes;
mod releases;
mod resources;
mod routes;
mod success_rates;
mod waf;
mod widget;
