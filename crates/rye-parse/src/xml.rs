//! A small tree of elements with their places, read from quick-xml's events.
//!
//! The events know the places but check little: what XML requires beyond them, and the bounds of SPEC 3.8, are
//! checked here. Entities are never expanded, and declarations of them are refused.

use std::{borrow::Cow, ops::Range};

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
pub(crate) struct Element<'s> {
    /// The name in its start tag.
    pub(crate) name: Spanned<&'s str>,
    /// Its attributes, in order; no name occurs twice.
    pub(crate) attributes: Vec<Attribute<'s>>,
    /// Its children, in order; neighbouring pieces of text are one.
    pub(crate) children: Vec<Node<'s>>,
    /// From `<` of the start tag to behind `>` of the end tag.
    pub(crate) span: Range<usize>,
}

/// An attribute with the places of both sides.
#[derive(Debug)]
pub(crate) struct Attribute<'s> {
    /// The name.
    pub(crate) name: Spanned<&'s str>,
    /// The value without its quotes, entities resolved.
    pub(crate) value: Spanned<Cow<'s, str>>,
}

/// What an element holds.
#[derive(Debug)]
pub(crate) enum Node<'s> {
    /// An element.
    Element(Element<'s>),
    /// Text, entities resolved.
    Text(Spanned<Cow<'s, str>>),
}

impl<'s> Element<'s> {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Spanned<Cow<'s, str>>> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name.value == name)
            .map(|attribute| &attribute.value)
    }

    /// The child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Element<'s>> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The pieces of text that are more than white space.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Spanned<Cow<'s, str>>> {
        self.children.iter().filter_map(|node| match node {
            Node::Text(text) if !text.value.chars().all(char::is_whitespace) => Some(text),
            Node::Text(_) | Node::Element(_) => None,
        })
    }

    /// Whether its content is text, whatever it holds.
    pub(crate) fn is_opaque(&self) -> bool {
        OPAQUE.contains(&self.name.value)
    }
}
