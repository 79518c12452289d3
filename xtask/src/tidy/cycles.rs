//! The rule that modules inside a crate import each other without cycles.
//!
//! Imports between a module and a module inside of it do not count, because the two are parts of one thing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::tidy::{
    modules::Modules,
    sources::{is_test, source_path},
    tree::File,
};

type Imports = BTreeMap<String, BTreeSet<String>>;

/// Finds crates below `crates/` with modules in import cycles.
pub(crate) fn check(tree: &[File]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<(&str, &File)>> = BTreeMap::new();
    for file in tree.iter().filter(|file| !is_test(&file.path)) {
        if let Some((name, path)) = source_path(&file.path) {
            crates.entry(name).or_default().push((path, file));
        }
    }
    let findings = crates.iter().filter_map(|(name, files)| {
        let imports = Modules::read(files.iter().copied()).imports();
        verdict(name, &between_separate(imports))
    });
    findings.collect()
}

/// Returns the imports without those between a module and one inside of it.
fn between_separate(imports: Imports) -> Imports {
    let inside =
        |outer: &str, inner: &str| outer == "crate" || inner.starts_with(&format!("{outer}::"));
    let kept = imports.into_iter().map(|(module, others)| {
        let is_kept = |other: &String| !inside(&module, other) && !inside(other, &module);
        let others = others.into_iter().filter(is_kept).collect();
        (module, others)
    });
    kept.collect()
}

fn verdict(name: &str, imports: &Imports) -> Option<String> {
    let cyclic: Vec<Vec<&str>> =
        imports.keys().filter_map(|module| shortest_cycle(imports, module)).collect();
    let example = cyclic.iter().min_by_key(|cycle| cycle.len())?.join("` → `");
    Some(format!(
        "`{name}` has {} modules in import cycles, as `{example}`; move what both need into a module of its own",
        cyclic.len()
    ))
}

/// Returns the shortest way from a module back to itself.
fn shortest_cycle<'i>(imports: &'i Imports, start: &'i str) -> Option<Vec<&'i str>> {
    let mut importers: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for next in imports.get(module).into_iter().flatten().map(String::as_str) {
            if next == start {
                return Some(way(&importers, start, module));
            }
            if !importers.contains_key(next) {
                importers.insert(next, module);
                queue.push_back(next);
            }
        }
    }
    None
}

/// Returns `start`, the modules on the way to `last`, and `start` again.
fn way<'i>(importers: &BTreeMap<&'i str, &'i str>, start: &'i str, last: &'i str) -> Vec<&'i str> {
    let mut way = vec![start];
    let mut module = last;
    while module != start {
        way.push(module);
        let Some(importer) = importers.get(module) else { break };
        module = importer;
    }
    way.push(start);
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::{File, check};

    /// Checks the findings for the files of one crate, given as path and text.
    #[track_caller]
    fn finds(files: &[(&str, &str)], expected: &[&str]) {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/rye-caps/src/{path}"),
            text: (*text).to_owned(),
        };
        let tree: Vec<File> = files.iter().map(file).collect();
        assert_eq!(check(&tree), expected, "{files:?}");
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a;\nmod b;\npub use b::B;");

    const CYCLE: &str = "`rye-caps` has 2 modules in import cycles, as `a` → `b` → `a`; \
                         move what both need into a module of its own";

    #[test]
    fn an_import_cycle_is_found_however_it_is_written() {
        let b = ("b.rs", "use crate::a::A;\npub struct B(A);");
        for a in [
            "use crate::b::B;\npub struct A(Box<B>);",
            "use super::b::{B as Other};\npub struct A(Box<Other>);",
            "use super::b;\npub struct A(Box<b::B>);",
            "pub struct A(Box<crate::b::B>);",
            "use crate::b::*;\npub struct A(Box<B>);",
            "use crate::B;\npub struct A(Box<B>);",
            "pub(crate) use crate::b::B;\npub struct A(Box<B>);",
            "pub struct A;\nfn f() { use crate::b::B; }",
            "pub struct A;\nmod inner { fn f(_: super::super::b::B) {} }",
        ] {
            finds(&[ROOT, ("a.rs", a), b], &[CYCLE]);
        }
    }

    #[test]
    fn one_direction_tests_and_re_exports_are_no_cycle() {
        let b = ("b.rs", "use crate::a::A;\npub struct B(A);");
        for a in [
            "pub struct A;",
            "pub struct A;\n/// [`B`](crate::b::B)\nfn f() {}",
            "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }",
            "pub use crate::b::B;\npub struct A;",
            "use std::b::B;\npub struct A(B);",
            "pub struct A { b: u8 }\nfn f(a: A) -> u8 { a.b }",
        ] {
            finds(&[ROOT, ("a.rs", a), b], &[]);
        }
    }

    #[test]
    fn a_module_and_one_inside_of_it_are_one_thing() {
        let a = ("a.rs", "mod c;\nuse c::C;\npub struct A(Box<C>);");
        let c = ("a/c.rs", "use super::A;\npub struct C(A);");
        finds(&[("lib.rs", "mod a;"), a, c], &[]);
    }
}
