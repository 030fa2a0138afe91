//! What a caller of the admin function may order. Each right is an alias of the function, so IAM grants it.

/// A right. Each one has those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Right {
    /// To see queues and visitors, and to change nothing.
    Look,
    /// To give the orders of a sale. No order of this right ends a visit or the line.
    Operate,
    /// To give every order.
    #[default]
    End,
}

impl Right {
    /// All rights, the least first.
    pub const ALL: [Self; 3] = [Self::Look, Self::Operate, Self::End];

    /// The name of the right, which is that of its alias.
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Operate => "operate",
            Self::End => "end",
        }
    }

    /// The right of a caller who invoked the function by this ARN: that of its alias, and every right without one. An alias or
    /// a version that the template does not have gives the least right.
    pub fn of_invoked(arn: &str) -> Self {
        // arn:aws:lambda:REGION:ACCOUNT:function:NAME:ALIAS
        match arn.split(':').nth(7) {
            None | Some("$LATEST") => Self::End,
            Some(alias) => {
                let named = Self::ALL.into_iter().find(|right| right.name() == alias);
                named.unwrap_or(Self::Look)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_decides_and_an_unknown_one_gives_the_least() {
        let arn = "arn:aws:lambda:eu-central-1:123456789012:function:shop-AdminFunction-1";
        for (qualifier, right) in [
            ("", Right::End),
            (":$LATEST", Right::End),
            (":look", Right::Look),
            (":operate", Right::Operate),
            (":end", Right::End),
            (":7", Right::Look),
            (":other", Right::Look),
        ] {
            assert_eq!(
                Right::of_invoked(&format!("{arn}{qualifier}")),
                right,
                "{qualifier}"
            );
        }
        assert_eq!(Right::of_invoked("AdminFunction"), Right::End, "an emulator");
    }
}
