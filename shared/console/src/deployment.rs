//! Which deployment a console shows, and who uses it.

use std::env;

use serde::Serialize;
use url::Url;

/// Where the admin function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeploymentKind {
    /// In this process.
    Local,
    /// In an AWS account.
    Stack,
}

/// The deployment that a console shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deployment {
    /// Where its admin function is.
    pub kind: DeploymentKind,
    /// Its name.
    pub name: String,
    /// The region of a stack.
    pub region: Option<String>,
    /// The address of the waiting page, as the operator's browser reaches it.
    pub page_url: Option<String>,
}

impl Deployment {
    /// The origin of the waiting page, if it is another one than that of the console.
    pub(crate) fn page_origin(&self) -> Option<String> {
        let url = Url::parse(self.page_url.as_deref()?).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https");
        is_web.then(|| url.origin().ascii_serialization())
    }
}

/// The name of the user of this machine, by which the log of orders names the console's user.
pub fn operator_name() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"].map(|variable| env::var(variable).ok());
    let name = names.into_iter().flatten().find(|name| !name.trim().is_empty());
    format!("{} (console)", name.as_deref().unwrap_or("operator").trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_of_another_origin_has_one() {
        let origin = |page_url: Option<&str>| {
            let deployment = Deployment {
                kind: DeploymentKind::Stack,
                name: "shop".to_owned(),
                region: None,
                page_url: page_url.map(str::to_owned),
            };
            deployment.page_origin()
        };
        assert_eq!(
            origin(Some("https://queue.example:8443/x; script-src *")).as_deref(),
            Some("https://queue.example:8443")
        );
        for none in [None, Some("/"), Some("javascript:alert(1)"), Some("nonsense")] {
            assert_eq!(origin(none), None, "{none:?}");
        }
    }
}
