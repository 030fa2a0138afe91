//! The commands of a page, each with what the suite does with it.

use std::collections::BTreeSet;

use vestibule_tests::{
    markdown::{Fence, code_spans, fences},
    template::read_text,
};

use crate::root;

/// The languages of fences that contain no command.
const OTHER_LANGUAGES: [&str; 6] = ["js", "json", "mermaid", "python", "text", "toml"];

/// A command of a page, and the answer that the page shows.
#[derive(Debug, Clone)]
pub(crate) struct PageCommand {
    pub(crate) command: String,
    pub(crate) answer: String,
}

/// What the suite does with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// Types it in a shell. The programs that need an account are stand-ins.
    Type,
    /// Looks whether the Makefile has the target.
    Make,
    /// Looks whether the files exist that it names. It would fetch packages.
    Fetch,
    /// Another test of this suite types it with values of its own.
    WithValues,
}

/// A command that the suite knows: how it begins, what the suite does with it, and what it types before.
pub(crate) type CommandRule = (&'static str, Handling, &'static str);

/// The commands of a fence. A line that ends with a backslash goes on.
pub(crate) fn commands(fence: &Fence) -> Vec<PageCommand> {
    let is_console = fence.language == "console";
    assert!(is_console || fence.language == "sh", "{fence:?}");
    let mut found: Vec<PageCommand> = Vec::new();
    let mut goes_on = false;
    for line in fence.text.lines() {
        let (starts, text) = match line.strip_prefix("$ ") {
            Some(command) if is_console => (true, command),
            _ => (!is_console && !line.trim().is_empty(), line),
        };
        match found.last_mut() {
            Some(last) if goes_on => last.command = [&last.command, text].join("\n"),
            Some(last) if !starts => last.answer.extend([text, "\n"]),
            _ => found.push(PageCommand {
                command: text.to_owned(),
                answer: String::new(),
            }),
        }
        goes_on = (starts || goes_on) && text.ends_with('\\');
    }
    found
}

/// The fences of a page in which one types into a shell, in order.
pub(crate) fn shell_fences(page: &str) -> Vec<Fence> {
    let is_shell = |fence: &Fence| {
        let language = fence.language.as_str();
        let is_shell = language == "sh" || language == "console";
        assert!(
            is_shell || OTHER_LANGUAGES.contains(&language),
            "the suite does not know the language `{language}`"
        );
        is_shell
    };
    fences(page).into_iter().filter(is_shell).collect()
}

/// The fences of a page in one language, in order.
pub(crate) fn fences_in(page: &str, language: &str) -> Vec<String> {
    let fences = fences(page).into_iter();
    fences
        .filter(|fence| fence.language == language)
        .map(|fence| fence.text)
        .collect()
}

/// The commands of a page in order, each with its entry in the table. The longest matching entry counts. A command
/// without an entry fails the test, and so does an entry without a command.
pub(crate) fn known_commands(page: &str, table: &[CommandRule]) -> Vec<(PageCommand, CommandRule)> {
    let text = read_text(page);
    let commands = shell_fences(&text).into_iter().flat_map(|fence| commands(&fence));
    let found: Vec<_> = commands
        .map(|typed| {
            let matching = table
                .iter()
                .filter(|(beginning, ..)| typed.command.starts_with(beginning));
            let known = matching.max_by_key(|(beginning, ..)| beginning.len());
            let known = known.unwrap_or_else(|| panic!("{page} has a command that no test types: {typed:?}"));
            (typed, *known)
        })
        .collect();
    for known in table {
        let is_used = found.iter().any(|(_, used)| used.0 == known.0);
        assert!(is_used, "{page} has no command that begins with {}", known.0);
    }
    for (typed, (_, how, _)) in &found {
        check_without_typing(&typed.command, *how);
    }
    for span in code_spans(&text) {
        if let Some(arguments) = span.strip_prefix("make ") {
            check_target(arguments);
        }
    }
    found
}

/// Checks what can be said of a command without typing it.
fn check_without_typing(command: &str, how: Handling) {
    match how {
        Handling::Make => check_target(command.trim_start_matches("make ")),
        Handling::Fetch => {
            let files: Vec<_> = command.split(' ').filter(|word| word.contains(".txt")).collect();
            assert!(!files.is_empty(), "{command} names no list of packages");
            for file in files {
                assert!(root().join(file).is_file(), "{command}: {file} does not exist");
            }
        }
        Handling::Type | Handling::WithValues => {}
    }
}

/// Checks that the Makefile has a target.
fn check_target(arguments: &str) {
    let target = arguments.split([' ', '\n']).next().unwrap_or_default();
    let makefile = read_text("Makefile");
    let targets: BTreeSet<_> = makefile
        .lines()
        .filter_map(|line| line.split_once(':').map(|(target, _)| target))
        .collect();
    assert!(targets.contains(target), "the Makefile has no target {target}");
}
