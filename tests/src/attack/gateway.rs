//! The limits of API Gateway, which nginx enforces as `template.yaml` declares them.

use std::{fmt::Write, net::SocketAddr};

use serde_json::Value;
use vestibule_sizing::sizes::number_by_size;

use crate::{
    nginx::Nginx,
    template::{read_template, read_text},
};

/// The header that stands for the signature of the protected service. The gateway refuses requests of its routes without
/// one.
pub(super) const SIGNATURE: &str = "x-service";
/// The connections that nginx has at the same time, to clients and to the origin.
const CONNECTIONS: usize = 4_096;

/// An emulated gateway in front of an API on this machine.
#[derive(Debug)]
pub struct Gateway(Nginx);

/// The limit of one route.
struct RouteLimit {
    method: String,
    /// A regular expression of the paths of the route.
    path: String,
    per_second: u64,
    at_once: u64,
}

impl Gateway {
    /// Starts it in front of `origin`, with the limits of a sale.
    ///
    /// # Panics
    /// Panics if nginx does not start, or the template has limits of another form.
    pub fn start(origin: SocketAddr) -> Self {
        let limits = read_route_limits(&read_template());
        let (mut zones, mut uses) = (String::new(), String::new());
        for (number, limit) in limits.iter().enumerate() {
            let RouteLimit {
                method,
                path,
                per_second,
                at_once,
            } = limit;
            write!(
                zones,
                "\n  map \"$request_method $uri\" $route_{number} {{\n    default \"\";\n    \
                 \"~^{method} {path}$\" 1;\n  }}\n  \
                 limit_req_zone $route_{number} zone=route_{number}:32k rate={per_second}r/s;\n"
            )
            .expect("a text grows");
            writeln!(
                uses,
                "      limit_req zone=route_{number} burst={at_once} nodelay;"
            )
            .expect("a text grows");
        }
        Self(Nginx::start(|directory, address| {
            read_text("infra/nginx-gateway.conf.template")
                .replace("@DIRECTORY@", &directory.display().to_string())
                .replace("@PORT@", &address.port().to_string())
                .replace("@ORIGIN@", &origin.to_string())
                .replace("@CONNECTIONS@", &CONNECTIONS.to_string())
                .replace("@ZONES@", &zones)
                .replace("@LIMITS@", &uses)
        }))
    }

    /// The URL of a path at the gateway.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }
}

/// The limits of all routes that `MethodSettings` names, for a sale.
fn read_route_limits(template: &Value) -> Vec<RouteLimit> {
    let settings = &template["Resources"]["Api"]["Properties"]["MethodSettings"];
    // `!If [GivesX, !Ref X, !FindInMap [Sizes, !Ref Size, X]]`.
    let number = |value: &Value| {
        let parameter = value["Fn::If"][1]["Ref"].as_str().expect("a parameter");
        number_by_size("sale", parameter).expect("a number").into()
    };
    let routes = settings.as_array().expect("a list").iter();
    let routes = routes.filter(|route| route["HttpMethod"] != "*");
    let limits: Vec<_> = routes
        .map(|route| RouteLimit {
            method: route["HttpMethod"].as_str().expect("a text").to_owned(),
            path: path_pattern(route["ResourcePath"].as_str().expect("a text")),
            per_second: number(&route["ThrottlingRateLimit"]),
            at_once: number(&route["ThrottlingBurstLimit"]),
        })
        .collect();
    assert!(limits.len() >= 10, "the routes of the template");
    limits
}

/// `MethodSettings` write a slash as `~1`, after the first one. The root path is a slash alone.
fn path_pattern(resource_path: &str) -> String {
    if resource_path == "/" {
        return resource_path.to_owned();
    }
    let path = resource_path.trim_start_matches('/').replace("~1", "/");
    let segments = path.split('/').map(|segment| match segment {
        parameter if parameter.starts_with('{') => "[^/]+".to_owned(),
        name => name.replace('.', "\\."),
    });
    segments.collect::<Vec<_>>().join("/")
}
