//! Within a crate, imports run one way: no module uses another that uses it in turn.

use super::{
    crate_folders,
    module_graph::{ModuleGraph, ModulePath},
    repository_root,
};

/// The circles of a crate, each as `a -> b -> a`.
fn describe_circles(graph: &ModuleGraph) -> Vec<String> {
    let name = |path: &ModulePath| match path.as_slice() {
        [] => "the crate's root".to_owned(),
        path => path.join("::"),
    };
    let describe = |circle: Vec<ModulePath>| {
        let around = circle.iter().chain(circle.first()).map(name);
        around.collect::<Vec<_>>().join(" -> ")
    };
    graph.find_circles().into_iter().map(describe).collect()
}

#[test]
fn no_crate_has_an_import_circle() {
    let mut circles = Vec::new();
    for folder in crate_folders() {
        let graph = ModuleGraph::read(&repository_root().join(&folder).join("src"));
        let found = describe_circles(&graph).into_iter();
        circles.extend(found.map(|circle| format!("{folder}: {circle}")));
    }
    assert!(
        circles.is_empty(),
        "these modules import each other; move what they share to a file of its own:\n{}",
        circles.join("\n")
    );
}

fn circles_of(sources: &[(&str, &str)]) -> Vec<String> {
    let module = |(path, text): &(&str, &str)| {
        let path = path.split("::").filter(|part| !part.is_empty());
        (path.map(str::to_owned).collect(), (*text).to_owned())
    };
    describe_circles(&ModuleGraph::from_sources(sources.iter().map(module).collect()))
}

#[test]
fn two_modules_that_import_each_other_are_a_circle() {
    let circles = circles_of(&[
        ("", "mod a; mod b;"),
        ("a", "use std::fmt; use super::{b::{C, D as E,}, c::F,};"),
        ("b", "fn f() { crate::a::g() }"),
    ]);
    assert_eq!(circles, ["a -> b -> a"]);
}

#[test]
fn parent_and_child_that_use_each_other_are_a_circle() {
    let with_import = circles_of(&[("", ""), ("a", "use self::b::f;"), ("a::b", "use super::C;")]);
    assert_eq!(with_import, ["a -> a::b -> a"]);
    let with_path = circles_of(&[("", "fn f() { a::g() }"), ("a", "use crate::f;")]);
    assert_eq!(with_path, ["the crate's root -> a -> the crate's root"]);
}

#[test]
fn an_import_through_a_re_export_counts_for_its_target() {
    let sources = [
        ("", "mod a; mod b; pub use self::{a::A, b::*};"),
        ("a", "pub struct A; use super::B;"),
        ("b", "pub struct B;"),
    ];
    assert_eq!(circles_of(&sources), Vec::<String>::new());
    let [root, a, _] = sources;
    let circles = circles_of(&[root, a, ("b", "pub struct B(super::A);")]);
    assert_eq!(circles, ["a -> b -> a"]);
}

#[test]
fn a_re_export_counts_only_if_its_module_uses_it() {
    let child = ("a", "use super::C; pub struct B;");
    let unused = circles_of(&[("", "pub use self::a::B; pub struct C;"), child]);
    assert_eq!(unused, Vec::<String>::new());
    let used = circles_of(&[("", "pub use self::a::B; pub struct C(B);"), child]);
    assert_eq!(used, ["the crate's root -> a -> the crate's root"]);
}
