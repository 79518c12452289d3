//! A small tree of elements with their places, read from quick-xml's events.
//!
//! The events know the places but check little: what XML requires beyond them, and the bounds of SPEC 3.8, are
//! checked here. Entities are never expanded, and declarations of them are refused.

use std::ops::Range;

use crate::Spanned;

mod attributes;
mod build;
mod escape;
pub(crate) mod expect;
mod read;

pub(crate) use read::{read, read_tag};

/// Elements whose content is text, whatever it holds (SPEC 3.8).
pub(crate) const OPAQUE: [&str; 3] = ["template", "example", "raw"];

/// An element with its place.
#[derive(Debug)]
pub(crate) struct Element {
    /// The name in its start tag.
    pub(crate) name: Spanned<String>,
    /// Its attributes, in order; no name occurs twice.
    pub(crate) attributes: Vec<Attribute>,
    /// Its children, in order; neighbouring pieces of text are one.
    pub(crate) children: Vec<Node>,
    /// From `<` of the start tag to behind `>` of the end tag.
    pub(crate) span: Range<usize>,
}

/// An attribute with the places of both sides.
#[derive(Debug)]
pub(crate) struct Attribute {
    /// The name.
    pub(crate) name: Spanned<String>,
    /// The value without its quotes, entities resolved.
    pub(crate) value: Spanned<String>,
}

/// What an element holds.
#[derive(Debug)]
pub(crate) enum Node {
    /// An element.
    Element(Element),
    /// Text, entities resolved.
    Text(Spanned<String>),
}

impl Element {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Spanned<String>> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name.value == name)
            .map(|attribute| &attribute.value)
    }

    /// The child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The pieces of text that are more than white space.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.children.iter().filter_map(|node| match node {
            Node::Text(text) if !text.value.trim().is_empty() => Some(text),
            Node::Text(_) | Node::Element(_) => None,
        })
    }

    /// Whether its content is text, whatever it holds.
    pub(crate) fn is_opaque(&self) -> bool {
        OPAQUE.contains(&self.name.value.as_str())
    }
}
