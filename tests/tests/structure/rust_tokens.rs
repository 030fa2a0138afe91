//! Splits Rust source text into tokens, so that words in comments and texts are not taken for code.

use std::{iter::Peekable, str::Chars};

/// A word or a mark of the source text. `::` is one token, and every other mark is a token of one character. Comments,
/// literals of text and lifetimes are left out.
pub(super) type Token = String;

/// The tokens of a file, without those of its unit tests.
pub(super) fn production_tokens(source: &str) -> Vec<Token> {
    let mut tokens = tokenize(source);
    let test_attribute = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let found = tokens
        .windows(test_attribute.len() + 2)
        .position(|window| window.starts_with_words(&test_attribute) && window[window.len() - 1] == "{");
    if let Some(at) = found {
        // The unit tests are the last item of a file.
        tokens.truncate(at);
    }
    tokens
}

trait StartsWithWords {
    fn starts_with_words(&self, words: &[&str]) -> bool;
}

impl StartsWithWords for [Token] {
    fn starts_with_words(&self, words: &[&str]) -> bool {
        self.len() >= words.len() && self.iter().zip(words).all(|(token, word)| token == word)
    }
}

/// Whether a token is a name or a keyword.
pub(super) fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

fn tokenize(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = source.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            '/' if rest.peek() == Some(&'/') => skip_line(&mut rest),
            '/' if rest.peek() == Some(&'*') => skip_block_comment(&mut rest),
            '"' => skip_text(&mut rest),
            '\'' => skip_character_or_lifetime(&mut rest),
            ':' if rest.peek() == Some(&':') => {
                rest.next();
                tokens.push("::".to_owned());
            }
            first if first.is_alphanumeric() || first == '_' => {
                let word = read_word(first, &mut rest);
                if ["r", "br"].contains(&word.as_str()) && matches!(rest.peek(), Some('"' | '#')) {
                    skip_raw_text(&mut rest);
                } else {
                    tokens.push(word);
                }
            }
            first if first.is_whitespace() => {}
            mark => tokens.push(mark.to_string()),
        }
    }
    tokens
}

fn read_word(first: char, rest: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::from(first);
    while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || *next == '_') {
        word.push(next);
    }
    word
}

fn skip_line(rest: &mut Peekable<Chars<'_>>) {
    rest.by_ref().find(|next| *next == '\n');
}

fn skip_block_comment(rest: &mut Peekable<Chars<'_>>) {
    let mut last = ' ';
    rest.by_ref()
        .find(|next| std::mem::replace(&mut last, *next) == '*' && *next == '/');
}

fn skip_text(rest: &mut Peekable<Chars<'_>>) {
    while let Some(next) = rest.next() {
        match next {
            '\\' => drop(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn skip_raw_text(rest: &mut Peekable<Chars<'_>>) {
    let mut hashes = 0;
    while rest.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    if rest.next_if_eq(&'"').is_none() {
        // A raw name such as `r#type`.
        return;
    }
    while rest.by_ref().any(|next| next == '"') {
        if (0..hashes).all(|_| rest.next_if_eq(&'#').is_some()) {
            return;
        }
    }
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime.
fn skip_character_or_lifetime(rest: &mut Peekable<Chars<'_>>) {
    match rest.next() {
        Some('\\') => {
            rest.next();
            rest.by_ref().find(|next| *next == '\'');
        }
        Some(first) if first.is_alphanumeric() || first == '_' => {
            while rest
                .next_if(|next| next.is_alphanumeric() || *next == '_')
                .is_some()
            {}
            rest.next_if_eq(&'\'');
        }
        _ => drop(rest.next_if_eq(&'\'')),
    }
}

#[test]
fn comments_texts_and_unit_tests_are_no_tokens() {
    let source = r##"
        //! crate::a
        use crate::b; /* crate::c */
        const D: &str = "crate::d \" crate::e";
        const F: &str = r#"crate::f " crate::g"#;
        const H: [char; 3] = ['"', '\'', 'h'];
        fn i<'i>(i: &'i str) {}
        #[cfg(test)]
        mod tests { use crate::j; }
    "##;
    let tokens = production_tokens(source).join(" ");
    assert_eq!(
        tokens,
        "use crate :: b ; const D : & str = ; const F : & str = ; \
         const H : [ char ; 3 ] = [ , , ] ; fn i < > ( i : & str ) { }"
    );
}
