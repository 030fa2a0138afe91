//! The list of callers that are the protected service. It is needed where visitors and the
//! protected service use the same kind of credential.

/// The callers that are the protected service: ARNs of IAM, or ids of API keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceCallers(Vec<String>);

impl ServiceCallers {
    /// Parses a comma-separated list.
    pub fn from_list(list: &str) -> Self {
        let listed = list.split(',').map(str::trim).filter(|caller| !caller.is_empty());
        Self(listed.map(str::to_owned).collect())
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the list contains a caller, or the role whose session the caller is.
    pub fn contains(&self, caller: &str) -> bool {
        let role = parse_session_role(caller);
        self.0
            .iter()
            .any(|listed| listed == caller || role.as_ref().is_some_and(|role| role.has_arn(listed)))
    }
}

/// The role of a session. The ARN of a session lacks the path of its role. The path is not needed
/// to identify the role, because role names are unique within an account.
struct SessionRole<'a> {
    /// `arn:aws`, or the prefix of another partition.
    partition: &'a str,
    account: &'a str,
    name: &'a str,
}

impl SessionRole<'_> {
    /// Whether an ARN names this role: `arn:aws:iam::123456789012:role/path/name`.
    fn has_arn(&self, listed: &str) -> bool {
        let role = listed
            .strip_prefix(self.partition)
            .and_then(|rest| rest.strip_prefix(":iam::"))
            .and_then(|rest| rest.strip_prefix(self.account))
            .and_then(|rest| rest.strip_prefix(":role/"));
        role.and_then(|path| path.rsplit('/').next()) == Some(self.name)
    }
}

/// Parses the ARN of a session: `arn:aws:sts::123456789012:assumed-role/name/session`.
fn parse_session_role(caller: &str) -> Option<SessionRole<'_>> {
    let (partition, rest) = caller.split_once(":sts::")?;
    let (account, rest) = rest.split_once(":assumed-role/")?;
    let (name, _session) = rest.split_once('/')?;
    Some(SessionRole {
        partition,
        account,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caller_is_listed_by_its_arn_or_its_session_role() {
        let listed = ServiceCallers::from_list(
            "arn:aws:iam::123456789012:role/shop, arn:aws:iam::123456789012:role/a/path/till,, key1",
        );
        for own in [
            "arn:aws:iam::123456789012:role/shop",
            "arn:aws:sts::123456789012:assumed-role/shop/i-0123",
            "arn:aws:sts::123456789012:assumed-role/till/anything",
            "key1",
        ] {
            assert!(listed.contains(own), "{own}");
        }
        for other in [
            "",
            "key",
            "key11",
            "arn:aws:iam::123456789012:role/shopper",
            "arn:aws:sts::123456789012:assumed-role/shopper/shop",
            "arn:aws:sts::123456789012:assumed-role/path/till",
            "arn:aws:sts::999999999999:assumed-role/shop/i-0123",
            "arn:aws-cn:sts::123456789012:assumed-role/shop/i-0123",
            "arn:aws:sts::123456789012:assumed-role/shop",
        ] {
            assert!(!listed.contains(other), "{other}");
        }
        assert!(ServiceCallers::from_list(" , ").is_empty());
    }
}
