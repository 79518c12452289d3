//! Comparison of an item's name, category and version with its place.

use std::ops::Range;

use rye_parse::{Directive, Knowledge, Spanned};
use semver::Version;

use crate::ItemId;

/// A claim of a directive or a knowledge entry that its place or the grammar of versions contradicts (SPEC 1.5).
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

    /// The bytes of the claim in the item's file.
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
    let claim = |claim: &Spanned<String>| (claim.value.clone(), claim.span.clone());
    problems(
        id,
        [
            Some(claim(&directive.name)),
            directive.category.as_ref().map(claim),
            directive.version.as_ref().map(claim),
        ],
    )
}

/// Returns the problems of the name, the category and the version of `knowledge`, in this order. `source` is the text of its file.
///
/// The entry need not be verified, because authors check before they sign.
pub fn declared_problems_of_knowledge(
    knowledge: &Knowledge,
    source: &str,
    id: &ItemId,
) -> Vec<DeclaredProblem> {
    let claim = |key: &str, value: &Option<String>| {
        let value = value.clone()?;
        Some((value, line_of(source, key)))
    };
    problems(
        id,
        [
            claim("name", &knowledge.name),
            claim("category", &knowledge.category),
            claim("version", &knowledge.version),
        ],
    )
}

/// The first line that gives the key a value, or the beginning of the file.
fn line_of(source: &str, key: &str) -> Range<usize> {
    let mut next = 0;
    for line in source.split_inclusive('\n') {
        let start = next;
        next += line.len();
        if line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')) {
            return start..start + line.trim_end().len();
        }
    }
    0..0
}

/// The problems of name, category and version, each with its place.
fn problems(id: &ItemId, claims: [Option<(String, Range<usize>)>; 3]) -> Vec<DeclaredProblem> {
    let [name, category, version] = claims;
    let name = name.filter(|(name, _)| name != id.as_str() && name != id.name());
    let category = category.filter(|(category, _)| category != id.folder().unwrap_or_default());
    let version = version.and_then(|(version, span)| {
        let reason = Version::parse(&version).err()?.to_string();
        Some(DeclaredProblem::Version { version, reason, span })
    });
    let name = name.map(|(name, span)| DeclaredProblem::Name { name, id: id.clone(), span });
    let category = category.map(|(category, span)| DeclaredProblem::Category {
        category,
        id: id.clone(),
        span,
    });
    [name, category, version].into_iter().flatten().collect()
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
