//! The files of the page, and the headers with which they are sent.

use axum::http::{HeaderMap, HeaderValue, header};

/// The files: path below the page, media type and text.
pub const FILES: &[(&str, &str, &str)] = include!("../../../../web/page/dist/files.rs");

/// The page itself.
pub const INDEX: &str = "index.html";
/// The folder of the files whose names change with their content.
const HASHED: &str = "assets/";

/// How long browsers and caches may keep a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCache {
    /// They ask each time whether it has changed. For a folder that its owner edits.
    Revalidated,
    /// For a minute: a new page is seen soon after a deployment, and many readers cost one request.
    Short,
    /// For ever, because another content would have another name.
    Immutable,
}

impl FileCache {
    const fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Revalidated => "no-cache",
            Self::Short => "public, max-age=60",
            Self::Immutable => "public, max-age=31536000, immutable",
        })
    }
}

/// Finds a file by its path below the page. Returns its media type and text.
pub fn find_file(path: &str) -> Option<(&'static str, &'static str)> {
    let file = FILES.iter().find(|(listed, ..)| *listed == path);
    file.map(|(_, media_type, text)| (*media_type, *text))
}

/// Whether the name of a file changes with its content.
pub fn is_hashed(path: &str) -> bool {
    path.starts_with(HASHED)
}

/// The headers of a file. The page may load only files of its own origin and may not run inline code. `frame_ancestors`
/// says which sites may embed it, as in the policy. If `has_tls`, browsers come back with TLS only.
pub fn file_headers(
    media_type: &'static str,
    cache: FileCache,
    frame_ancestors: &str,
    has_tls: bool,
) -> HeaderMap {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
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
