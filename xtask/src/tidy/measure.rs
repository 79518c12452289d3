//! Lengths of source files and functions, measured by tokens and not by text.

use std::{collections::BTreeSet, ops::RangeInclusive, str::FromStr};

use anyhow::anyhow;
use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::{
    Attribute, Block, ImplItemFn, ItemFn, ItemMod, Meta, Token, TraitItemFn,
    visit::{self, Visit},
};

/// The measures of a file.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    /// The number of lines with code: not blank, not only comment or documentation, not inside
    /// `#[cfg(test)]`.
    pub(crate) code_lines: usize,
    pub(crate) functions: Vec<Function>,
    /// The names of modules, declared or inline.
    pub(crate) modules: Vec<String>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The number of lines from `fn` to the closing brace, both included.
    pub(crate) lines: usize,
}

/// Measures `source`, or returns the parser's error with its line.
pub(crate) fn measure(source: &str) -> anyhow::Result<Measure> {
    let explain = |span: Span, error: &dyn std::fmt::Display| {
        anyhow!("{error} in line {}", span.start().line)
    };
    let tokens = TokenStream::from_str(source).map_err(|error| explain(error.span(), &error))?;
    let file: syn::File =
        syn::parse2(tokens.clone()).map_err(|error| explain(error.span(), &error))?;
    let mut visitor = Visitor::default();
    visitor.visit_file(&file);
    let mut lines = BTreeSet::new();
    collect_lines(tokens, &mut lines);
    lines.retain(|line| !visitor.tests.iter().any(|test| test.contains(line)));
    visitor.measure.code_lines = lines.len();
    Ok(visitor.measure)
}

/// Adds the lines of each token, except those of documentation.
fn collect_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    for token in without_docs(tokens) {
        match token {
            TokenTree::Group(group) => {
                lines.extend([group.span_open().start().line, group.span_close().end().line]);
                collect_lines(group.stream(), lines);
            }
            token => lines.extend(token.span().start().line..=token.span().end().line),
        }
    }
}

/// Removes documentation. The parser turns `/// text` into `#[doc = "text"]`, so both forms are removed.
fn without_docs(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        if is_doc(&token) {
            while kept.pop_if(|last| is_punct(last, '!') || is_punct(last, '#')).is_some() {}
        } else {
            kept.push(token);
        }
    }
    kept
}

fn is_doc(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let mut inside = group.stream().into_iter();
    let named = matches!(inside.next(), Some(TokenTree::Ident(name)) if name == "doc");
    named && inside.next().is_some_and(|token| is_punct(&token, '='))
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

#[derive(Default)]
struct Visitor {
    measure: Measure,
    tests: Vec<RangeInclusive<usize>>,
}

impl Visitor {
    fn function(&mut self, name: &syn::Ident, keyword: Token![fn], body: &Block) {
        let lines = end(body).line + 1 - keyword.span.start().line;
        self.measure.functions.push(Function { name: name.to_string(), lines });
    }

    fn item(&mut self, attributes: &[Attribute], last_line: usize) {
        if let Some(attribute) = attributes.iter().find(|attribute| is_cfg_test(attribute)) {
            self.tests.push(attribute.pound_token.span.start().line..=last_line);
        }
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig.ident, item.sig.fn_token, &item.block);
        self.item(&item.attrs, end(&item.block).line);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig.ident, item.sig.fn_token, &item.block);
        self.item(&item.attrs, end(&item.block).line);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig.ident, item.sig.fn_token, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.measure.modules.push(item.ident.to_string());
        let body = item.content.as_ref().map(|(brace, _)| brace.span.close());
        let last =
            body.or(item.semi.map(|semi| semi.spans[0])).unwrap_or_else(|| item.ident.span());
        self.item(&item.attrs, last.end().line);
        visit::visit_item_mod(self, item);
    }
}

fn end(block: &Block) -> LineColumn {
    block.brace_token.span.close().end()
}

fn is_cfg_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let condition = list.tokens.to_string();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
}

#[cfg(test)]
mod tests {
    use super::{Function, measure};

    const SOURCE: &str = r#"//! Doc.

/// Doc of `f`,
/// on two lines.
#[inline]
fn f(
    argument: u8,
) -> &'static str {
    // A comment.

    "one
two"
}

mod inner {
    trait T {
        fn without_body();
        fn with_body() {}
    }
}

#[cfg(test)]
mod tests {
    fn helper() {
    }
}
"#;

    #[test]
    fn comments_blanks_docs_and_tests_are_not_code() {
        let measured = measure(SOURCE).expect("a source that parses");
        assert_eq!(measured.code_lines, 7 + 6);
        assert_eq!(measured.modules, ["inner", "tests"]);
    }

    #[test]
    fn a_function_counts_from_its_signature_to_its_closing_brace() {
        let measured = measure(SOURCE).expect("a source that parses");
        let function = |name: &str, lines| Function { name: name.to_owned(), lines };
        assert_eq!(
            measured.functions,
            [function("f", 8), function("with_body", 1), function("helper", 2)]
        );
    }

    #[test]
    fn what_is_no_rust_is_an_error_with_its_line() {
        let error = measure("fn f() {}\nfn 7() {}\n").expect_err("no function is called 7");
        assert_eq!(error.to_string(), "expected identifier in line 2");
    }
}
