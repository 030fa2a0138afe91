//! Settings that take one of a few words.

/// Declares an enum of words: each variant with the word that operators write, which the table stores and Redis
/// scripts read.
macro_rules! declare_words {
    (
        $(#[doc = $meaning:literal])+
        pub enum $name:ident {
            $($(#[doc = $variant_meaning:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $meaning])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $variant_meaning])+ #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl super::values::SettingValue for $name {
            fn parse(
                field: &super::Field,
                value: &serde_json::Value,
            ) -> Result<Self, super::SettingsError> {
                serde_json::from_value(value.clone()).map_err(|_| field.refuse_value())
            }
        }
    };
}

pub(super) use declare_words;
