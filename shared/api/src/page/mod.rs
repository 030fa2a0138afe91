//! The waiting page: its files, which are compiled in, and the answers that contain them.
//!
//! The function `document` serves it, and the local runner, where a folder may have files instead.

mod files;
mod routes;
mod without_javascript;

pub(crate) use self::routes::{index, page, theme};
pub use self::{
    files::{FILES, FileCache, choose_page, file_headers, find_file},
    without_javascript::continue_without_javascript,
};
