//! Prints the JSON schemas of the API's document: `clients` has all of them, `gateway` the models that API Gateway checks.

use serde_json::json;
use vestibule_wire::schemas::{for_clients, for_gateway};

fn main() {
    let schemas = json!({ "clients": for_clients(), "gateway": for_gateway() });
    println!("{schemas:#}");
}
