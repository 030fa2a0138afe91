//! What a deployment allows the settings of its queues to contain.

use vestibule_domain::settings::{Settings, SettingsError, Visitors};

/// What a deployment allows the settings of its queues to contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettingsPolicy {
    /// Whether a queue may set `trust_client_visitor_id`. It may only if trusted callers alone can
    /// reach the visitor routes. Otherwise any caller could send another visitor's id and take that
    /// visitor's place.
    pub trust_client_visitor_id: bool,
    /// Whether an authorizer in front of the visitor routes names every visitor.
    pub authorizer_names_visitors: bool,
}

impl SettingsPolicy {
    /// Returns the settings unchanged if this deployment allows them.
    ///
    /// # Errors
    /// [`SettingsError`] with the name of the setting that the deployment does not allow.
    pub fn validate(self, settings: Settings) -> Result<Settings, SettingsError> {
        if settings.trust_client_visitor_id && !self.trust_client_visitor_id {
            return Err(setting_error(
                "trust_client_visitor_id",
                "must be false in this deployment: a queue may trust the visitor ids of its callers only if \
                 the visitor routes need IAM or an API key",
            ));
        }
        if settings.visitors == Visitors::Known && !self.can_name_visitors(&settings) {
            return Err(setting_error(
                "visitors",
                "must be anyone, because no visitor of this queue can be known: the deployment has no authorizer for \
                 visitors (template parameter VisitorAuth), trust_client_visitor_id is false, and ticket_keys are not set",
            ));
        }
        if settings.visitors == Visitors::Ticket && settings.ticket_keys.is_none() {
            return Err(setting_error(
                "visitors",
                "must not be ticket without ticket_keys, because no ticket could be verified",
            ));
        }
        Ok(settings)
    }

    /// Whether a visitor of a queue with these settings can be known at all.
    fn can_name_visitors(self, settings: &Settings) -> bool {
        self.authorizer_names_visitors || settings.trust_client_visitor_id || settings.ticket_keys.is_some()
    }
}

fn setting_error(field: &str, reason: &str) -> SettingsError {
    SettingsError {
        field: field.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_domain::settings::TicketKeys;

    use super::*;

    const ALONE: SettingsPolicy = SettingsPolicy {
        trust_client_visitor_id: false,
        authorizer_names_visitors: false,
    };

    #[test]
    fn known_visitors_need_something_that_names_them() {
        let known = Settings {
            visitors: Visitors::Known,
            ..Settings::default()
        };
        let refused = ALONE
            .validate(known.clone())
            .expect_err("nothing names a visitor");
        assert_eq!(refused.field, "visitors");
        let behind_an_authorizer = SettingsPolicy {
            authorizer_names_visitors: true,
            ..ALONE
        };
        assert!(behind_an_authorizer.validate(known.clone()).is_ok());
        let with_trusted_callers = SettingsPolicy {
            trust_client_visitor_id: true,
            ..ALONE
        };
        assert!(with_trusted_callers.validate(known.clone()).is_err());
        let trusting = Settings {
            trust_client_visitor_id: true,
            ..known
        };
        assert!(with_trusted_callers.validate(trusting).is_ok());
    }

    #[test]
    fn tickets_need_keys_that_verify_them() {
        let without_keys = Settings {
            visitors: Visitors::Ticket,
            ..Settings::default()
        };
        let refused = ALONE
            .validate(without_keys.clone())
            .expect_err("no ticket is valid");
        assert_eq!(refused.field, "visitors");
        let key =
            json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
        let ticket_keys = TicketKeys::parse(&json!({ "keys": [key] })).ok();
        for visitors in [Visitors::Ticket, Visitors::Known] {
            let with_keys = Settings {
                visitors,
                ticket_keys: ticket_keys.clone(),
                ..Settings::default()
            };
            assert!(ALONE.validate(with_keys).is_ok(), "{visitors:?}");
        }
    }

    #[test]
    fn trust_in_callers_needs_callers_who_are_trusted() {
        let trusting = Settings {
            trust_client_visitor_id: true,
            ..Settings::default()
        };
        let refused = ALONE.validate(trusting).expect_err("any caller may be there");
        assert_eq!(refused.field, "trust_client_visitor_id");
        assert!(ALONE.validate(Settings::default()).is_ok());
    }
}
