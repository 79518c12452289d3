//! A small tree of elements with their places, built from the events of quick-xml.
//!
//! The events have places but are hardly checked. The other requirements of XML and the limits of SPEC 3.8 are checked
//! here. Entities are never expanded, and their declarations are refused.

use std::{borrow::Cow, ops::Range};

use crate::Spanned;

mod attributes;
mod build;
mod escape;
pub(crate) mod expect;
mod read;

pub(crate) use read::{read, read_tag};

/// The elements whose content is always text (SPEC 3.8).
pub(crate) const OPAQUE: [&str; 3] = ["template", "example", "raw"];

/// An element with its place.
#[derive(Debug)]
pub(crate) struct Element<'s> {
    /// The name in its start tag.
    pub(crate) name: Spanned<&'s str>,
    /// The attributes in order, with different names.
    pub(crate) attributes: Vec<Attribute<'s>>,
    /// The children in order. Adjacent pieces of text are joined.
    pub(crate) children: Vec<Node<'s>>,
    /// The range from `<` of the start tag to the end of the end tag.
    pub(crate) span: Range<usize>,
}

/// An attribute with the places of its name and its value.
#[derive(Debug)]
pub(crate) struct Attribute<'s> {
    /// The name.
    pub(crate) name: Spanned<&'s str>,
    /// The value without its quotes, with entities resolved.
    pub(crate) value: Spanned<Cow<'s, str>>,
}

/// A child of an element.
#[derive(Debug)]
pub(crate) enum Node<'s> {
    /// An element.
    Element(Element<'s>),
    /// Text with entities resolved.
    Text(Spanned<Cow<'s, str>>),
}

impl<'s> Element<'s> {
    /// Returns the value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Spanned<Cow<'s, str>>> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name.value == name)
            .map(|attribute| &attribute.value)
    }

    /// Returns the child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Element<'s>> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Returns the pieces of text that are not only white space.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Spanned<Cow<'s, str>>> {
        self.children.iter().filter_map(|node| match node {
            Node::Text(text) if !text.value.chars().all(char::is_whitespace) => Some(text),
            Node::Text(_) | Node::Element(_) => None,
        })
    }

    /// Returns `true` if the content of the element is always text.
    pub(crate) fn is_opaque(&self) -> bool {
        OPAQUE.contains(&self.name.value)
    }
}
