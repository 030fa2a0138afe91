//! Who sent a command, as the call itself and the command say.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use vestibule_domain::right::Right;
use vestibule_wire::commands::CALLER_FIELD;

use super::problem::Problem;

/// The longest name of a caller, in characters.
const CALLER_CHARS_MAX: usize = 200;

/// The format characters: the category Cf of Unicode 16. They show nothing, and some turn the text around them, so a
/// name with them reads like another one.
const FORMAT_CHARACTERS: [RangeInclusive<char>; 21] = [
    '\u{ad}'..='\u{ad}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{2064}',
    '\u{2066}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0001}'..='\u{e0001}',
    '\u{e0020}'..='\u{e007f}',
];
/// What ends a line without being a control character.
const SEPARATORS: [char; 2] = ['\u{2028}', '\u{2029}'];

/// What the call of the function tells, apart from the command.
#[derive(Debug, Clone, Default)]
pub struct Invocation {
    /// What the caller may order.
    pub right: Right,
    /// The identity that AWS passes to the function, if it does: that of a Cognito user.
    pub identity: Option<String>,
    /// The id of the request, under which `CloudTrail` has the IAM identity of the caller.
    pub request_id: Option<String>,
}

/// Takes the field `caller` from a command. Every operation has it, so none declares it.
///
/// # Errors
/// [`Problem`] if the field is not a short text in one line, or has characters that are not seen.
pub(super) fn take_caller(command: &mut Map<String, Value>) -> Result<Option<String>, Problem> {
    match command.remove(CALLER_FIELD) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name))
            if (1..=CALLER_CHARS_MAX).contains(&name.chars().count()) && !name.contains(is_unseen) =>
        {
            Ok(Some(name))
        }
        Some(_) => {
            let reason = format!(
                "must be a text of 1 to {CALLER_CHARS_MAX} characters in one line, without format characters such as \
                 U+200B or U+202E"
            );
            Err(Problem::invalid_field(CALLER_FIELD, reason))
        }
    }
}

/// Whether a reader does not see the character, or sees it as the end of the line.
fn is_unseen(character: char) -> bool {
    let is_format = || FORMAT_CHARACTERS.iter().any(|range| range.contains(&character));
    character.is_control() || SEPARATORS.contains(&character) || is_format()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_characters_are_none_that_a_name_needs() {
        // The standard library knows which characters are printed as they are, and so none of the table.
        for character in FORMAT_CHARACTERS.into_iter().flatten() {
            assert!(character.escape_debug().count() > 1, "{character:?}");
        }
        assert_eq!(FORMAT_CHARACTERS.into_iter().flatten().count(), 170);
        for name in [
            "kim@example.com",
            "김미나",
            "Zoë O’Neil",
            "山田 太郎",
            "नेहा",
            "مريم",
        ] {
            assert!(!name.contains(is_unseen), "{name}");
        }
    }
}
