//! The files of the page, and the headers with which they are sent.

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use crate::html::choose_language;

/// The files: path below the page, media type and text.
pub const FILES: &[(&str, &str, &str)] = include!("../../../../web/page/dist/files.rs");

/// The folder of the pages, one for each language.
const PAGES: &str = "pages/";

/// How long browsers and caches may keep a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCache {
    /// They ask each time whether it has changed. For a folder that its owner edits.
    Revalidated,
    /// For a minute: a new page is seen soon after a deployment, and many readers cost one request.
    Short,
}

impl FileCache {
    const fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Revalidated => "no-cache",
            Self::Short => "public, max-age=60",
        })
    }
}

/// Finds a file by its path below the page. Returns its media type and text.
pub fn find_file(path: &str) -> Option<(&'static str, &'static str)> {
    let file = FILES.iter().find(|(listed, ..)| *listed == path);
    file.map(|(_, media_type, text)| (*media_type, *text))
}

/// The path of the page in the language that the link names or else the browser prefers.
pub fn choose_page(uri: &Uri, headers: &HeaderMap) -> String {
    format!("{PAGES}{}.html", choose_language(uri, headers))
}

/// The headers of a file. A page may run the scripts and styles that stand in it and may load only files of its own origin.
/// `frame_ancestors` says which sites may embed it, as in the policy. If `has_tls`, browsers come back with TLS only.
pub fn file_headers(
    media_type: &'static str,
    text: &[u8],
    cache: FileCache,
    frame_ancestors: &str,
    has_tls: bool,
) -> HeaderMap {
    let html = if media_type.starts_with("text/html") {
        str::from_utf8(text).unwrap_or_default()
    } else {
        ""
    };
    let (scripts, styles) = (inline_hashes(html, "script"), inline_hashes(html, "style"));
    let policy = format!(
        "default-src 'none'; script-src 'self'{scripts}; style-src 'self'{styles}; connect-src 'self'; img-src 'self' data:; \
         font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {frame_ancestors}"
    );
    let mut headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, cache.header()),
    ]);
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if has_tls {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000"),
        );
    }
    headers
}

/// The sources of a policy that allow the elements of this name that stand in a page, by the hashes of their contents. Data
/// that no browser runs is none of them.
fn inline_hashes(html: &str, element: &str) -> String {
    let (begin, end) = (format!("<{element}"), format!("</{element}>"));
    let contents = html.split(&begin).skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let is_data = attributes.contains("application/json");
        rest.split_once(&end)
            .filter(|_| !is_data)
            .map(|(content, _)| content)
    });
    contents.fold(String::new(), |sources, content| {
        let hash = STANDARD.encode(Sha256::digest(content));
        format!("{sources} 'sha256-{hash}'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_allows_what_stands_in_the_page_and_nothing_else() {
        let page =
            "<style>a{}</style><script type=\"application/json\">{}</script><script async>b()</script>";
        let policy = |media_type, text: &str| {
            let headers = file_headers(media_type, text.as_bytes(), FileCache::Short, "'none'", true);
            headers[header::CONTENT_SECURITY_POLICY]
                .to_str()
                .expect("text")
                .to_owned()
        };
        // printf 'b()' | openssl dgst -sha256 -binary | base64
        assert!(
            policy("text/html", page).starts_with(
                "default-src 'none'; script-src 'self' 'sha256-cf242PFc/kb7xD0Qzhsmd9vvRkc+cWFmbi+k+YvtdKc='; style-src 'self' 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='; "
            ),
            "{}",
            policy("text/html", page)
        );
        assert!(!policy("application/json", page).contains("sha256"));
    }

    #[test]
    fn every_page_has_one_script_and_two_styles() {
        for (path, _, html) in FILES.iter().filter(|(path, ..)| path.starts_with(PAGES)) {
            let hashes = |element| inline_hashes(html, element).matches("sha256").count();
            assert_eq!((hashes("script"), hashes("style")), (1, 2), "{path}");
        }
    }
}
