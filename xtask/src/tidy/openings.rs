//! The rule that crates open files by `rye-files`, which waits for no pipe and bounds what is read.

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprCall, ItemFn, ItemMod, Path};

use crate::tidy::{
    sources::{is_test, source_path},
    tree::File,
};

/// Functions of the standard library that wait for a pipe, or read as much as there is: their last two names, and the number of
/// arguments, by which they differ from the file tools.
const UNBOUNDED: &[([&str; 2], usize)] = &[
    (["File", "open"], 1),
    (["fs", "read"], 1),
    (["fs", "read_to_string"], 1),
    (["fs", "copy"], 2),
];

/// Files that call them, or all files of a folder, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/rye-sandbox/src/", "it reads what the kernel and its own processes wrote"),
    ("crates/rye-cli/src/commands/doctor/places.rs", "it reads the list of mounts in `/proc`"),
    ("crates/rye-cli/src/signals.rs", "it reads the ignored signals in `/proc`"),
    ("crates/rye-files/src/open.rs", "other systems than Unix have no pipes among files"),
];

/// Finds calls of these functions outside of tests, and exceptions that are not needed.
pub(crate) fn check(tree: &[File]) -> Vec<String> {
    let sources =
        || tree.iter().filter(|file| !is_test(&file.path) && source_path(&file.path).is_some());
    let mut findings = Vec::new();
    for file in sources().filter(|file| exception(&file.path).is_none()) {
        findings.extend(calls(&file.text).into_iter().map(|name| {
            format!("`{}` calls `{name}`; open the file by a function of `rye-files`", file.path)
        }));
    }
    for (place, _) in EXCEPTIONS {
        let mut files = sources().filter(|file| file.path.starts_with(place)).peekable();
        if files.peek().is_some() && files.all(|file| calls(&file.text).is_empty()) {
            findings.push(format!("the exception for `{place}` is no longer needed; delete it"));
        }
    }
    findings
}

fn exception(path: &str) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|(place, _)| path.starts_with(place)).map(|(_, reason)| *reason)
}

/// Returns the names of the functions that a file calls. A file that is no Rust is reported elsewhere.
fn calls(text: &str) -> Vec<String> {
    let mut calls = Calls(Vec::new());
    if let Ok(file) = syn::parse_file(text) {
        calls.visit_file(&file);
    }
    calls.0
}

struct Calls(Vec<String>);

impl<'ast> Visit<'ast> for Calls {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(function) = &*call.func {
            self.0.extend(unbounded(&function.path, call.args.len()));
        }
        visit::visit_expr_call(self, call);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|it| it == "test")
        }
        meta => meta.path().is_ident("test"),
    })
}

/// Returns the name of the function that a path leads to, if it is one of the unbounded.
fn unbounded(path: &Path, arguments: usize) -> Option<String> {
    let names: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
    let [.., module, function] = names.as_slice() else { return None };
    let call = ([module.as_str(), function.as_str()], arguments);
    UNBOUNDED.contains(&call).then(|| format!("{module}::{function}"))
}

#[cfg(test)]
mod tests {
    use super::{File, check};

    /// Checks the findings for a file of this name and text.
    #[track_caller]
    fn finds(path: &str, text: &str, expected: &[&str]) {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(check(&[file]), expected, "{text}");
    }

    #[test]
    fn an_opening_that_may_wait_is_found_outside_of_tests() {
        let path = "crates/rye-caps/src/a.rs";
        let reads = "`crates/rye-caps/src/a.rs` calls `fs::read`; open the file by a function of `rye-files`";
        let opens = "`crates/rye-caps/src/a.rs` calls `File::open`; open the file by a function of `rye-files`";
        finds(path, "fn f() { std::fs::read(x); }", &[reads]);
        finds(
            path,
            "fn f() { g(|| fs::read(x)) }\nimpl A { fn h() { File::open(y) } }",
            &[reads, opens],
        );
        finds(path, "fn f() { read_plain(x); fs::read(root, x); }", &[]);
        finds(path, "#[cfg(all(test, unix))]\nmod tests { fn f() { fs::read(x); } }", &[]);
        finds(path, "#[cfg(unix)]\nmod system { fn f() { fs::read(x); } }", &[reads]);
        finds("crates/rye-caps/tests/a.rs", "fn f() { fs::read(x); }", &[]);
    }

    #[test]
    fn an_exception_is_one_while_it_is_needed() {
        let path = "crates/rye-cli/src/commands/doctor/places.rs";
        finds(path, "fn f() { std::fs::read_to_string(x); }", &[]);
        let spare = format!("the exception for `{path}` is no longer needed; delete it");
        finds(path, "fn f() {}", &[&spare]);
    }
}
