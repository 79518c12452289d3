//! The modules of a crate and the imports between them, read from tokens.
//!
//! A name counts as an import from the module that defines it, also if it is written with the name of a module
//! that only re-exports it. Code for tests does not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{ItemUse, UseTree, Visibility};

use crate::tidy::tree::File;

/// The modules of one crate, each with an index.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    modules: Vec<Module>,
    indices: BTreeMap<Path, usize>,
}

/// The names of the modules from the root of the crate to a module or an item.
type Path = Vec<String>;

/// A file, or a module inside of a file.
#[derive(Debug, Default)]
struct Module {
    path: Path,
    /// The path of the module that the whole file holds.
    file: Path,
    /// The names that `use` declares, with their targets as written.
    names: BTreeMap<String, Path>,
    /// The targets of `use` declarations that are no re-exports.
    imports: Vec<Path>,
    /// The modules of which everything is imported.
    globs: Vec<Path>,
    /// The paths and single names in the code.
    paths: BTreeSet<Path>,
}

/// The meaning of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item that the module defines.
    Item(usize),
}

/// The largest number of re-exports that one name goes through.
const MAX_REEXPORTS: usize = 8;

impl Modules {
    /// Reads the files of a crate, whose paths are relative to its folder `src`. A file that is no Rust is
    /// reported elsewhere, and left out here.
    pub(crate) fn read<'f>(files: impl Iterator<Item = (&'f str, &'f File)>) -> Self {
        let mut modules = Self::default();
        for (path, file) in files {
            if let Ok(tokens) = TokenStream::from_str(&file.text) {
                let path = module_path(path);
                modules.add(&path, &path, tokens);
            }
        }
        modules
    }

    /// Returns the imports of each file by the names of both modules, as `plan::tools`. The root is `crate`.
    pub(crate) fn imports(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for index in 0..self.modules.len() {
            let name = self.file_name(index);
            let others = self.imported(index).into_iter().map(|other| self.file_name(other));
            let others: BTreeSet<String> = others.filter(|other| *other != name).collect();
            imports.entry(name).or_default().extend(others);
        }
        imports
    }

    fn file_name(&self, index: usize) -> String {
        let path = self.modules.get(index).map(|module| module.file.join("::"));
        path.filter(|path| !path.is_empty()).unwrap_or_else(|| "crate".to_owned())
    }

    fn add(&mut self, path: &Path, file: &Path, tokens: TokenStream) {
        let mut module = Module { path: path.clone(), file: file.clone(), ..Module::default() };
        let inner = Reader::new(&mut module).read(tokens);
        self.indices.insert(path.clone(), self.modules.len());
        self.modules.push(module);
        for (name, tokens) in inner {
            self.add(&[path.as_slice(), &[name]].concat(), file, tokens);
        }
    }

    /// Returns the modules that define what this one imports.
    fn imported(&self, index: usize) -> BTreeSet<usize> {
        let Some(module) = self.modules.get(index) else { return BTreeSet::new() };
        let resolve = |path: &Path| self.resolve(index, path, 0);
        let named = module.imports.iter().filter_map(resolve);
        let written = module.paths.iter().filter(|path| path.len() > 1 || module.declares(path));
        let items = named.chain(written.filter_map(resolve)).filter_map(|target| match target {
            Target::Item(index) => Some(index),
            Target::Module(_) => None,
        });
        let globs = module.globs.iter().filter_map(resolve).map(|target| match target {
            Target::Item(index) | Target::Module(index) => index,
        });
        items.chain(globs).collect()
    }

    /// Returns the meaning of a path in a module, or `None` if it leads to another crate or to a name that no
    /// import declares.
    fn resolve(&self, index: usize, path: &[String], n_reexports: usize) -> Option<Target> {
        let module = self.modules.get(index).filter(|_| n_reexports <= MAX_REEXPORTS)?;
        let (first, rest) = path.split_first()?;
        let parent = || module.path.split_last().map(|(_, parent)| parent);
        match first.as_str() {
            "crate" => self.descend(*self.indices.get(&Path::new())?, rest, n_reexports),
            "self" => self.descend(index, rest, n_reexports),
            "super" => self.descend(*self.indices.get(parent()?)?, rest, n_reexports),
            name if self.child(index, name).is_some() || module.names.contains_key(name) => {
                self.descend(index, path, n_reexports)
            }
            _ => None,
        }
    }

    /// Follows names from a module downwards.
    fn descend(&self, index: usize, path: &[String], n_reexports: usize) -> Option<Target> {
        let Some((first, rest)) = path.split_first() else { return Some(Target::Module(index)) };
        if first == "super" {
            return self.resolve(index, path, n_reexports);
        }
        if let Some(child) = self.child(index, first) {
            return self.descend(child, rest, n_reexports);
        }
        match self.modules.get(index)?.names.get(first) {
            // `use serde_json::Value` leads to another crate, and `use name::{self}` to a module of that name.
            Some(target) if target.first() == Some(first) => None,
            Some(target) => {
                self.resolve(index, &[target.as_slice(), rest].concat(), n_reexports + 1)
            }
            None => Some(Target::Item(index)),
        }
    }

    fn child(&self, index: usize, name: &str) -> Option<usize> {
        let path = [self.modules.get(index)?.path.clone(), vec![name.to_owned()]].concat();
        self.indices.get(&path).copied()
    }
}

impl Module {
    fn declares(&self, path: &[String]) -> bool {
        path.first().is_some_and(|name| self.names.contains_key(name))
    }

    fn declare(&mut self, tokens: TokenStream) {
        let Ok(declaration) = syn::parse2::<ItemUse>(tokens) else { return };
        let is_import = matches!(declaration.vis, Visibility::Inherited);
        self.add_tree(&declaration.tree, &Path::new(), is_import);
    }

    fn add_tree(&mut self, tree: &UseTree, before: &[String], is_import: bool) {
        let joined = |name: &dyn ToString| match name.to_string() {
            name if name == "self" && !before.is_empty() => before.to_vec(),
            name => [before, &[name]].concat(),
        };
        match tree {
            UseTree::Path(path) => self.add_tree(&path.tree, &joined(&path.ident), is_import),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_tree(tree, before, is_import));
            }
            UseTree::Glob(_) => self.globs.push(before.to_vec()),
            UseTree::Name(name) => {
                let target = joined(&name.ident);
                let last = target.last().cloned().unwrap_or_default();
                self.add_name(last, target, is_import);
            }
            UseTree::Rename(name) => {
                self.add_name(name.rename.to_string(), joined(&name.ident), is_import);
            }
        }
    }

    fn add_name(&mut self, name: String, target: Path, is_import: bool) {
        if is_import {
            self.imports.push(target.clone());
        }
        self.names.insert(name, target);
    }
}

/// A walk over the tokens of a module.
struct Reader<'m> {
    module: &'m mut Module,
    /// The path that has been read so far.
    path: Path,
    /// The `pub`, with what it is restricted to, in front of the next token.
    visibility: Vec<TokenTree>,
    /// The last token, or the last two if they are punctuation with one meaning.
    last: String,
    /// The modules that stand in the file itself.
    inner: Vec<(String, TokenStream)>,
}

impl<'m> Reader<'m> {
    fn new(module: &'m mut Module) -> Self {
        Self {
            module,
            path: Path::new(),
            visibility: Vec::new(),
            last: String::new(),
            inner: Vec::new(),
        }
    }

    /// Reads all tokens, and returns names and contents of the modules inside of the file.
    fn read(mut self, tokens: TokenStream) -> Vec<(String, TokenStream)> {
        self.read_stream(tokens);
        self.inner
    }

    fn read_stream(&mut self, tokens: TokenStream) {
        let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
        tokens.reverse();
        while let Some(token) = tokens.pop() {
            match &token {
                TokenTree::Group(group) => self.read_group(group, &mut tokens),
                TokenTree::Ident(name) => self.read_name(&name.to_string(), &token, &mut tokens),
                TokenTree::Punct(sign) => self.read_sign(sign.as_char()),
                TokenTree::Literal(_) => self.start_anew("literal"),
            }
        }
        self.end_path();
    }

    fn read_group(&mut self, group: &Group, tokens: &mut Vec<TokenTree>) {
        let is_attribute = self.last == "#" || self.last == "#!";
        let is_restriction = self.last == "pub" && group.delimiter() == Delimiter::Parenthesis;
        if is_attribute && is_test(&group.stream()) {
            skip_item(tokens);
        } else if is_restriction {
            return self.visibility.push(group.clone().into());
        }
        self.start_anew("group");
        if !is_attribute {
            self.read_stream(group.stream());
            self.start_anew("group");
        }
    }

    fn read_name(&mut self, name: &str, token: &TokenTree, tokens: &mut Vec<TokenTree>) {
        if self.last != "::" {
            self.end_path();
        }
        // Names of fields and lifetimes, and paths that begin with `::`, are not in the scope of the module.
        let is_foreign = matches!(&*self.last, "." | "'");
        let is_absolute = self.last == "::" && self.path.is_empty();
        match name {
            "use" => {
                let rest = std::iter::once(token.clone()).chain(take_until_semicolon(tokens));
                let declaration = self.visibility.drain(..).chain(rest).collect();
                self.module.declare(declaration);
            }
            "mod" => self.inner.extend(inline_module(tokens)),
            "pub" => return self.start_visibility(token),
            name if !is_foreign && !is_absolute => self.path.push(name.to_owned()),
            _ => {}
        }
        self.visibility.clear();
        name.clone_into(&mut self.last);
    }

    fn start_visibility(&mut self, token: &TokenTree) {
        self.visibility = vec![token.clone()];
        "pub".clone_into(&mut self.last);
    }

    fn read_sign(&mut self, sign: char) {
        let last = match (&*self.last, sign) {
            (":", ':') | (".", '.') | ("#", '!') => format!("{}{sign}", self.last),
            _ => sign.to_string(),
        };
        if !matches!(&*last, ":" | "::") {
            self.end_path();
        }
        self.visibility.clear();
        self.last = last;
    }

    fn start_anew(&mut self, last: &str) {
        self.end_path();
        self.visibility.clear();
        last.clone_into(&mut self.last);
    }

    fn end_path(&mut self) {
        if !self.path.is_empty() {
            self.module.paths.insert(std::mem::take(&mut self.path));
        }
    }
}

/// Returns the path of the module that a file holds.
fn module_path(file: &str) -> Path {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    match stem {
        "lib" | "main" => Path::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    }
}

/// Returns `true` for the attribute `cfg(test)`, or one that needs `test` beside others.
fn is_test(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// Removes the next item from the reversed tokens.
fn skip_item(tokens: &mut Vec<TokenTree>) {
    while let Some(token) = tokens.pop() {
        let is_end = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            token => token.to_string() == ";",
        };
        if is_end {
            return;
        }
    }
}

fn take_until_semicolon(tokens: &mut Vec<TokenTree>) -> Vec<TokenTree> {
    let mut taken = Vec::new();
    while let Some(token) = tokens.pop() {
        let is_end = token.to_string() == ";";
        taken.push(token);
        if is_end {
            break;
        }
    }
    taken
}

/// Takes the name and content of a module that stands in the file itself.
fn inline_module(tokens: &mut Vec<TokenTree>) -> Option<(String, TokenStream)> {
    let name = tokens.pop()?.to_string();
    match tokens.pop()? {
        TokenTree::Group(group) => Some((name, group.stream())),
        _ => None,
    }
}
