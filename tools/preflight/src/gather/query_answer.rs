//! Reads an answer of the query protocol, which is XML.

use xmlparser::{Token, Tokenizer};

/// The texts of all elements of this name.
///
/// # Errors
/// Where the text is no XML.
pub(super) fn read_elements(xml: &str, name: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for token in Tokenizer::from(xml) {
        match token.map_err(|error| format!("the answer is no XML: {error}"))? {
            Token::ElementStart { local, .. } => is_inside = local.as_str() == name,
            Token::Text { text } if is_inside => found.push(text.as_str().to_owned()),
            Token::ElementEnd {
                end: xmlparser::ElementEnd::Close(..),
                ..
            } => is_inside = false,
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_elements_are_read() {
        let xml = "<?xml version=\"1.0\"?><a><item><zone>use1-az1</zone><other>x</other></item>\n<item><zone>use1-az2</zone></item></a>";
        assert_eq!(
            read_elements(xml, "zone"),
            Ok(vec!["use1-az1".to_owned(), "use1-az2".to_owned()])
        );
        assert_eq!(read_elements("<a/>", "zone"), Ok(Vec::new()));
        assert!(read_elements("no XML", "zone").is_err());
    }
}
