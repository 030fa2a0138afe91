//! The routes that `infra/openapi.yaml` declares, which API Gateway imports.

use std::collections::BTreeSet;

use saphyr::{LoadableYamlNode, Yaml};

use crate::account_answers::ApiRoute;

const DOCUMENT: &str = include_str!("../../../../infra/openapi.yaml");

/// The methods that a path may have in an `OpenAPI` document. Its other fields are no routes.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// Reads the routes.
pub(super) fn declared_routes() -> BTreeSet<ApiRoute> {
    let documents =
        Yaml::load_from_str(DOCUMENT).expect("the document of the API is YAML, which a test verifies");
    let paths = documents
        .first()
        .and_then(|document| document.as_mapping_get("paths"));
    let paths = paths.and_then(Yaml::as_mapping).into_iter().flatten();
    paths
        .filter_map(|(path, fields)| Some((path.as_str()?, fields.as_mapping()?)))
        .flat_map(|(path, fields)| {
            let names = fields.keys().filter_map(|name| name.as_str());
            let methods = names.filter(|name| METHODS.contains(name));
            methods.map(move |method| ApiRoute {
                path: path.to_owned(),
                method: method.to_uppercase(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_the_document_are_read() {
        let routes = declared_routes();
        assert!(routes.len() > 15, "{routes:?}");
        let enter = ApiRoute {
            path: "/queues/{queue}/entries".to_owned(),
            method: "POST".to_owned(),
        };
        assert!(routes.contains(&enter), "{routes:?}");
    }
}
