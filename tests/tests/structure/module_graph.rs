//! The modules of a crate, and which of them uses which.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::Path,
};

use super::rust_tokens::{Token, is_word, production_tokens};

/// The keywords that precede the name of an item.
const ITEM_KEYWORDS: [&str; 8] = ["const", "enum", "fn", "mod", "static", "struct", "trait", "type"];

/// The path of a module in its crate. The root has the empty path.
pub(super) type ModulePath = Vec<String>;

/// One name that a `use` brings into a module.
struct Import {
    /// From the root of the crate. It ends in `*` for all names of a module.
    path: Vec<String>,
    /// The name in the importing module.
    name: String,
    /// Whether other modules can see it: a re-export.
    is_public: bool,
}

/// What one file says.
#[derive(Default)]
struct Module {
    imports: Vec<Import>,
    /// The paths in the code outside of `use`, from the root of the crate.
    paths: Vec<Vec<String>>,
    /// All words outside of `use`.
    words: BTreeSet<String>,
    /// The names of its items.
    items: BTreeSet<String>,
}

/// The modules of one crate.
pub(super) struct ModuleGraph(BTreeMap<ModulePath, Module>);

impl ModuleGraph {
    /// Reads the modules below a folder of sources. Modules of tests are left out.
    pub(super) fn read(sources: &Path) -> Self {
        let mut files = Vec::new();
        let mut folders = vec![sources.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            {
                let path = entry.expect("a file of the folder").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).expect("a file of sources is UTF-8");
                    files.push((module_path(sources, &path), text));
                }
            }
        }
        files.retain(|(path, _)| !path.contains(&"tests".to_owned()));
        Self::from_sources(files)
    }

    /// Builds the graph from the text of each module.
    pub(super) fn from_sources(files: Vec<(ModulePath, String)>) -> Self {
        let paths: BTreeSet<_> = files.iter().map(|(path, _)| path.clone()).collect();
        let read = |(path, text): (ModulePath, String)| {
            let module = Module::read(&path, &production_tokens(&text), &paths);
            (path, module)
        };
        Self(files.into_iter().map(read).collect())
    }

    /// A shortest circle through each module that is part of one. No module is in two of the circles.
    pub(super) fn find_circles(&self) -> Vec<Vec<ModulePath>> {
        let uses: BTreeMap<_, _> = self
            .0
            .keys()
            .map(|module| (module, self.uses_of(module)))
            .collect();
        let mut circles: Vec<Vec<ModulePath>> = Vec::new();
        for module in self.0.keys() {
            if !circles.iter().flatten().any(|known| known == module) {
                circles.extend(shortest_circle(module, &uses));
            }
        }
        circles
    }

    /// Each module with each one that it uses.
    pub(super) fn arrows(&self) -> Vec<(&ModulePath, ModulePath)> {
        let users = self.0.keys();
        users
            .flat_map(|user| self.uses_of(user).into_iter().map(move |used| (user, used)))
            .collect()
    }

    /// The modules that a module uses. A re-export that the module does not use itself is not among them.
    fn uses_of(&self, user: &ModulePath) -> BTreeSet<ModulePath> {
        let module = &self.0[user];
        let imports = module.imports.iter();
        let used = imports.filter(|import| !import.is_public || module.words.contains(&import.name));
        used.map(|import| &import.path)
            .chain(&module.paths)
            .map(|path| self.defining_module(path))
            .filter(|used| used != user)
            .collect()
    }

    /// The module that defines what a path names, also if the path goes through a re-export.
    fn defining_module(&self, path: &[String]) -> ModulePath {
        let (module, rest) = self.split_at_module(path);
        let re_exported = rest.first().and_then(|name| self.re_export(&module, name));
        re_exported.unwrap_or(module)
    }

    /// The longest part of a path that is a module, and the rest.
    fn split_at_module<'a>(&self, path: &'a [String]) -> (ModulePath, &'a [String]) {
        let length = (0..=path.len())
            .rev()
            .find(|length| self.0.contains_key(&path[..*length]));
        let (module, rest) = path.split_at(length.expect("the crate has a root"));
        (module.to_vec(), rest)
    }

    /// The module from which `module` re-exports a name.
    fn re_export(&self, module: &ModulePath, name: &str) -> Option<ModulePath> {
        let imports = self.0[module].imports.iter().filter(|import| import.is_public);
        let mut found = None;
        for import in imports {
            let (from, _) = self.split_at_module(&import.path);
            if from == *module {
                continue;
            }
            if import.name == name {
                return Some(self.defining_module(&import.path));
            }
            if import.name == "*" && found.is_none() {
                let defines = self.0[&from].items.contains(name).then(|| from.clone());
                found = self.re_export(&from, name).or(defines);
            }
        }
        found
    }
}

/// The path of the module in a file: `a/mod.rs` and `a.rs` are the module `a`. A `main.rs` beside a `lib.rs` is a crate
/// of its own, which uses the library by its name; here it is a module that no other one uses.
fn module_path(sources: &Path, file: &Path) -> ModulePath {
    let relative = file.strip_prefix(sources).expect("the file is below the sources");
    let mut path: ModulePath = relative
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let has_library = sources.join("lib.rs").exists();
    path.pop_if(|last| match last.as_str() {
        "mod" | "lib" => true,
        last => last == "main" && !has_library,
    });
    path
}

/// The modules of a shortest circle that begins at `start`, in order.
fn shortest_circle(
    start: &ModulePath,
    uses: &BTreeMap<&ModulePath, BTreeSet<ModulePath>>,
) -> Option<Vec<ModulePath>> {
    let mut trails = VecDeque::from([vec![start.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(trail) = trails.pop_front() {
        for next in &uses[&trail[trail.len() - 1]] {
            if next == start {
                return Some(trail);
            }
            if seen.insert(next.clone()) {
                trails.push_back(trail.iter().chain([next]).cloned().collect());
            }
        }
    }
    None
}

impl Module {
    fn read(path: &ModulePath, tokens: &[Token], modules: &BTreeSet<ModulePath>) -> Self {
        let mut module = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                let end = at + tokens[at..].iter().take_while(|token| *token != ";").count();
                // `pub use` and `pub(crate) use`.
                let is_public = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                for (given, name) in flatten_use(&tokens[at + 1..end]) {
                    let full = path_from_root(path, &given, modules);
                    module.imports.extend(full.map(|path| Import {
                        path,
                        name,
                        is_public,
                    }));
                }
                at = end;
            } else if is_word(&tokens[at]) {
                if at > 0 && ITEM_KEYWORDS.contains(&tokens[at - 1].as_str()) {
                    module.items.insert(tokens[at].clone());
                }
                let given = read_path(&tokens[at..]);
                at += given.len() * 2 - 1;
                if given.len() > 1 {
                    module.paths.extend(path_from_root(path, &given, modules));
                }
                module.words.extend(given);
            } else {
                at += 1;
            }
        }
        module
    }
}

/// The words at the beginning that `::` connects.
fn read_path(tokens: &[Token]) -> Vec<String> {
    let mut path = vec![tokens[0].clone()];
    for pair in tokens[1..].chunks_exact(2) {
        if pair[0] != "::" || !is_word(&pair[1]) {
            break;
        }
        path.push(pair[1].clone());
    }
    path
}

/// The paths of a `use` and the names that they get, without the braces.
fn flatten_use(tokens: &[Token]) -> Vec<(Vec<String>, String)> {
    let mut imports = Vec::new();
    // The paths before the open braces, and the path that is being read.
    let mut prefixes: Vec<Vec<String>> = Vec::new();
    let mut current: Vec<String> = Vec::new();
    let mut alias = None;
    let mut rest = tokens.iter().map(String::as_str).chain([","]);
    while let Some(token) = rest.next() {
        match token {
            "::" => {}
            "as" => alias = rest.next(),
            "{" => prefixes.push(current.clone()),
            "," | "}" => {
                // Behind a comma or a closed brace there is no new path to add.
                if prefixes.last() != Some(&current) && !current.is_empty() {
                    current.pop_if(|last| last == "self");
                    let last = current.last().map(String::as_str);
                    let name = alias.take().or(last).unwrap_or_default().to_owned();
                    imports.push((current.clone(), name));
                }
                if token == "}" {
                    prefixes.pop();
                }
                current = prefixes.last().cloned().unwrap_or_default();
            }
            word => current.push(word.to_owned()),
        }
    }
    imports
}

/// Turns a path that a module gives into one from the root; `None` if it leads out of the crate.
fn path_from_root(
    module: &ModulePath,
    given: &[String],
    modules: &BTreeSet<ModulePath>,
) -> Option<Vec<String>> {
    let child = || module.iter().chain(&given[..1]).cloned().collect::<ModulePath>();
    match given[0].as_str() {
        "crate" => Some(given[1..].to_vec()),
        "self" => Some([module, &given[1..]].concat()),
        "super" => {
            let up = given.iter().take_while(|part| *part == "super").count();
            let base = &module[..module.len().checked_sub(up)?];
            Some([base, &given[up..]].concat())
        }
        _ if modules.contains(&child()) => Some([module.as_slice(), given].concat()),
        _ => None,
    }
}
