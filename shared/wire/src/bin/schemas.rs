//! Prints the JSON schemas of the API's document: `clients` has all of them, `gateway` the models that API Gateway checks. `commands`
//! is the document of the commands of operators.

use serde_json::json;
use vestibule_wire::schemas::{for_clients, for_gateway, of_commands};

fn main() {
    let schemas = json!({ "clients": for_clients(), "gateway": for_gateway(), "commands": of_commands() });
    println!("{schemas:#}");
}
