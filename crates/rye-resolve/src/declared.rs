//! Comparison of a directive's name, category and version with its place.

use std::ops::Range;

use rye_parse::Directive;
use semver::Version;

use crate::ItemId;

/// A claim of a directive that its place or the grammar of versions contradicts (SPEC 1.5).
///
/// Signing refuses these; checking and running report them as warnings.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclaredProblem {
    /// The name is neither the id nor its last segment.
    #[error("the name `{}` does not match the id `{id}`; name it {}", .name.escape_debug(), names(id))]
    Name {
        /// The name as declared.
        name: String,
        /// The id that the file's place gives it.
        id: ItemId,
        /// The bytes of the name in the file.
        span: Range<usize>,
    },
    /// The category is not the folder that the file lies in.
    #[error("the category `{}` does not match {}", .category.escape_debug(), folder(id))]
    Category {
        /// The category as declared.
        category: String,
        /// The id that the file's place gives it.
        id: ItemId,
        /// The bytes of the category in the file.
        span: Range<usize>,
    },
    /// The version is not a semantic version.
    #[error("the version `{}` is not a semantic version: {reason}; write it as `1.0.0`", .version.escape_debug())]
    Version {
        /// The version as declared.
        version: String,
        /// The problem of the version.
        reason: String,
        /// The bytes of the version in the file.
        span: Range<usize>,
    },
}

impl DeclaredProblem {
    /// The stable name of the problem, for reports that machines read.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "name-differs-from-id",
            Self::Category { .. } => "category-differs-from-folder",
            Self::Version { .. } => "version-not-semver",
        }
    }

    /// The bytes of the claim in the directive's file.
    pub fn span(&self) -> &Range<usize> {
        match self {
            Self::Name { span, .. } | Self::Category { span, .. } | Self::Version { span, .. } => {
                span
            }
        }
    }
}

/// Returns the problems of the name, the category and the version of `directive`, in this order.
///
/// The directive need not be verified, because authors check before they sign.
pub fn declared_problems(directive: &Directive, id: &ItemId) -> Vec<DeclaredProblem> {
    [name(directive, id), category(directive, id), version(directive)]
        .into_iter()
        .flatten()
        .collect()
}

fn name(directive: &Directive, id: &ItemId) -> Option<DeclaredProblem> {
    let name = &directive.name;
    let matches = name.value == id.as_str() || name.value == id.name();
    (!matches).then(|| DeclaredProblem::Name {
        name: name.value.clone(),
        id: id.clone(),
        span: name.span.clone(),
    })
}

fn category(directive: &Directive, id: &ItemId) -> Option<DeclaredProblem> {
    let category = directive.category.as_ref()?;
    let matches = category.value == id.folder().unwrap_or_default();
    (!matches).then(|| DeclaredProblem::Category {
        category: category.value.clone(),
        id: id.clone(),
        span: category.span.clone(),
    })
}

fn version(directive: &Directive) -> Option<DeclaredProblem> {
    let version = directive.version.as_ref()?;
    let reason = Version::parse(&version.value).err()?.to_string();
    Some(DeclaredProblem::Version {
        version: version.value.clone(),
        reason,
        span: version.span.clone(),
    })
}

fn names(id: &ItemId) -> String {
    match id.folder() {
        Some(_) => format!("`{}` or `{id}`", id.name()),
        None => format!("`{id}`"),
    }
}

fn folder(id: &ItemId) -> String {
    match id.folder() {
        Some(folder) => format!("the folder `{folder}`; write that, or move the file"),
        None => "the top folder, which has no category; leave it out, or move the file".to_owned(),
    }
}
