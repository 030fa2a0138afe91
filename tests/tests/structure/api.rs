//! The structure of `shared/api`: routes over four services, and functions that fit on a screen.

use std::fs;

use super::{
    module_graph::ModuleGraph, names::visit, read_file, repository_root, rust_tokens::production_tokens,
};

/// The folders from top to bottom. Imports run one way. `config`, `page` and `problem` are not among them: all of these may use the
/// first and the last one, and the distribution serves the second.
const FOLDERS: [&str; 9] = [
    "authorizer",
    "serve",
    "routes",
    "degraded",
    "html",
    "entries",
    "long_poll",
    "who",
    "queue",
];

/// A longer function does more than one thing.
const FUNCTION_LINES_MAX: usize = 60;

/// How many files a reader opens who follows the walk of entering in docs/ARCHITECTURE.md.
const WALK_FILES_MAX: usize = 40;

/// What no file of the routes names: these belong to the entries.
const UNKNOWN_TO_ROUTES: [&str; 6] = [
    "vestibule_line",
    "Line",
    "line",
    "vestibule_backup",
    "Backup",
    "backup",
];

/// The files of product code below a folder, each with its path and its text.
fn read_sources(folder: &str) -> Vec<(String, String)> {
    let root = repository_root();
    let mut sources = Vec::new();
    visit(&root.join(folder), &mut |path| {
        let relative = path.strip_prefix(&root).expect("a path below the root");
        let relative = relative.to_string_lossy().into_owned();
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust && !relative.contains("tests") {
            sources.push((relative, fs::read_to_string(path).expect("a text file")));
        }
    });
    sources
}

#[test]
fn no_route_names_the_line_or_the_backup() {
    let routes = read_sources("shared/api/src/routes");
    assert!(routes.len() > 10, "the files of the routes");
    for (path, source) in routes {
        for word in production_tokens(&source) {
            assert!(!UNKNOWN_TO_ROUTES.contains(&word.as_str()), "{path} names {word}");
        }
    }
}

#[test]
fn folders_of_the_api_import_from_top_to_bottom() {
    let graph = ModuleGraph::read(&repository_root().join("shared/api/src"));
    let level = |module: &[String]| {
        FOLDERS
            .iter()
            .position(|folder| module.first().is_some_and(|name| name == folder))
    };
    let mut downward = 0;
    for (user, used) in graph.arrows() {
        if let (Some(from), Some(to)) = (level(user), level(&used)) {
            assert!(from <= to, "{} imports {}", user.join("::"), used.join("::"));
            downward += usize::from(from < to);
        }
    }
    assert!(downward > 20, "the imports between folders");
}

#[test]
fn the_services_are_bundled_without_methods() {
    for folder in ["shared", "functions", "tools"] {
        for (path, source) in read_sources(folder) {
            let tokens = production_tokens(&source);
            assert!(
                !tokens.iter().any(|word| word == "ApiState"),
                "{path} names ApiState"
            );
            let has_methods = tokens.windows(2).any(|pair| pair == ["impl", "Services"]);
            assert_eq!(
                has_methods,
                path == "shared/api/src/services.rs",
                "{path}: a method belongs to one of the services"
            );
        }
    }
}

#[test]
fn no_function_of_the_api_is_long() {
    let sources = read_sources("shared/api/src");
    let functions: Vec<_> = sources
        .iter()
        .flat_map(|(path, source)| functions_of(path, source))
        .collect();
    assert!(functions.len() > 500, "the functions of the API");
    let long: Vec<_> = functions
        .iter()
        .filter(|(_, lines)| *lines > FUNCTION_LINES_MAX)
        .collect();
    assert!(
        long.is_empty(),
        "functions with more than {FUNCTION_LINES_MAX} lines: {long:?}"
    );
}

/// The functions of a formatted file, each with its path and the number of its lines. The unit tests are the last item.
fn functions_of(path: &str, source: &str) -> Vec<(String, usize)> {
    let product = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let lines: Vec<_> = product.lines().collect();
    let begins = |line: &str| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| word.starts_with("pub") || ["async", "const", "unsafe"].contains(word));
        (words.next() == Some("fn")).then(|| words.next().unwrap_or_default().to_owned())
    };
    let function = |(at, line): (usize, &&str)| {
        let name = begins(line)?;
        let end = format!("{}}}", " ".repeat(line.len() - line.trim_start().len()));
        let rest = lines[at..].iter();
        // A function without a body, or with all of it on one line.
        let is_short = line.ends_with(';') || line.ends_with('}');
        let count = if is_short {
            1
        } else {
            rest.take_while(|next| **next != end).count() + 1
        };
        Some((format!("{path}: {name}"), count))
    };
    lines.iter().enumerate().filter_map(function).collect()
}

#[test]
fn the_lines_of_a_function_are_counted() {
    let source = "impl A {\n    pub(crate) async fn b(\n        &self,\n    ) {\n        c();\n    }\n    fn d() {}\n}\n";
    let counted: Vec<_> = functions_of("a", source)
        .into_iter()
        .map(|(_, lines)| lines)
        .collect();
    assert_eq!(counted, [5, 1]);
}

#[test]
fn the_walk_of_entering_opens_few_files() {
    let page = read_file("docs/ARCHITECTURE.md");
    let (_, walk) = page.split_once("\n## Walk 1").expect("the walk of entering");
    let (walk, _) = walk.split_once("\n## Walk 2").expect("the end of the walk");
    let (_, table) = walk
        .split_once("| part | files |")
        .expect("the table of its files");
    let files: Vec<_> = table
        .split("](../")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(
        files.len() > 20 && files.len() <= WALK_FILES_MAX,
        "{} files",
        files.len()
    );
    for file in files {
        assert!(repository_root().join(file).is_file(), "there is no {file}");
    }
}
