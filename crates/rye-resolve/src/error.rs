//! The errors of this crate.

use std::{error::Error, io, ops::Range, path::PathBuf, slice};

use rye_caps::PatternError;
use rye_parse::{ParseError, Problem, position};
use rye_types::{HookLayer, ItemKind};

use crate::{ItemId, ItemIdError, Location, Space};

/// The reason why an id gives no item. Every variant is final: no farther space is searched (SPEC 1.4).
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// No space has the id.
    #[error("{kind} `{id}` not found; {}looked in {}", instead(*other, suggestion.as_ref()), list_locations(looked))]
    NotFound {
        /// The kind that was asked for.
        kind: ItemKind,
        /// The id that was asked for.
        id: ItemId,
        /// The nearest id that does exist.
        suggestion: Option<ItemId>,
        /// Another kind that has an item with this id.
        other: Option<ItemKind>,
        /// The folders that were searched, nearest first.
        looked: Vec<Location>,
    },
    /// One space holds several files for the id (SPEC 1.4).
    #[error(
        "{kind} `{id}` is ambiguous in the {space} space: {}; keep one of them",
        list_locations(files)
    )]
    Ambiguous {
        /// The kind that was asked for.
        kind: ItemKind,
        /// The id that was asked for.
        id: ItemId,
        /// The space that holds the files.
        space: Space,
        /// The files that share the id.
        files: Vec<Location>,
    },
    /// A link leads out of the space that the file was found in (SPEC 1.3).
    #[error("`{}` is a link out of its space, to `{}`; copy the file into the space", .path.display(), .target.display())]
    LeavesSpace {
        /// The path inside the space.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// A link leads to a file of configuration or of a provider. Programs, which leave the folders of these files as they are,
    /// could change the file at its other place (SPEC 1.3).
    #[error("`{}` is reached by a link, and configuration and providers are not; copy the file to its place", .path.display())]
    LinkedPolicy {
        /// The path inside the space.
        path: PathBuf,
    },
    /// A link is on the way to a plain file of the project, or to its signature (SPEC 17.3).
    #[error("`{}` is reached by a link, and a file of context is not; put the file itself there", .path.display())]
    LinkedFile {
        /// The path of the file.
        path: PathBuf,
    },
    /// A folder, a device or a pipe stands where an item should be.
    #[error("`{}` is not a plain file; move it away or give it another name", .path.display())]
    NotAFile {
        /// The path inside the space.
        path: PathBuf,
    },
    /// The file is longer than the limit.
    #[error("`{}` is longer than {limit} bytes; split it", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The longest file that is read, in bytes.
        limit: u64,
    },
    /// The file's bytes are not UTF-8.
    #[error("`{}` {told}", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The encoding that it seems to have, and what to do.
        told: String,
    },
    /// The operating system refused a read.
    #[error("cannot read `{}`", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or folder has a name that no id can have, so nothing can ask for it.
    #[error("`{}` has a name that no item id can have; rename it", .path.display())]
    Misnamed {
        /// The file or folder.
        path: PathBuf,
        /// The problem of the name.
        source: ItemIdError,
    },
    /// A file lies among items and has a type that they do not have.
    #[error(
        "`{}` has a type that no {kind} has; name it with {}, or move it away",
        .path.display(),
        extensions(*kind)
    )]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The kind of the items that it lies among.
        kind: ItemKind,
    },
    /// A folder has the name of a folder for items in another case, so that nothing reads it.
    #[error("nothing is read from `{}`; name the folder `{folder}`", .path.display())]
    OtherCase {
        /// The folder.
        path: PathBuf,
        /// The name that it nearly has.
        folder: &'static str,
    },
    /// A folder holds more entries than are listed.
    #[error("`{}` holds more than {limit} entries; move what is not an item elsewhere", .path.display())]
    TooManyFiles {
        /// The kind's folder.
        path: PathBuf,
        /// The most entries that are looked at.
        limit: usize,
    },
    /// A text is not an item id.
    #[error("`{}` is not the name of a {kind}", .text.escape_debug())]
    InvalidId {
        /// The kind that was asked for.
        kind: ItemKind,
        /// The text as given.
        text: String,
        /// The problem of the text.
        source: ItemIdError,
    },
    /// The item's signature is missing or is not accepted (SPEC 2.5).
    #[error("`{location}` is not verified")]
    Unverified {
        /// The file that was refused.
        location: Location,
        /// The reason, with the way to fix it.
        source: Box<rye_sign::Error>,
    },
    /// The file's type has no comments, so it cannot carry a signature line (SPEC 2.1).
    #[error(
        "`{location}` cannot carry a signature, as its file type has no comments; write it as YAML or TOML and sign that"
    )]
    Unsignable {
        /// The file that was refused.
        location: Location,
    },
    /// The file is verified, but does not parse.
    #[error("`{location}` cannot be parsed")]
    Unparseable {
        /// The file that was refused.
        location: Location,
        /// The whole text of the file, which the problems' spans index.
        text: String,
        /// Every problem in the file.
        source: ParseError,
    },
    /// A configuration is verified, but does not parse. Its text is left out, because it may hold secrets.
    #[error("`{location}` cannot be parsed: {}", problems.join("; "))]
    UnparseableConfig {
        /// The file that was refused.
        location: Location,
        /// Every problem with its line and column, without text of the file.
        problems: Vec<String>,
    },
    /// The `extends` of a directive is not an item id.
    #[error("directive `{id}` extends `{}`, which is no item id", .extends.escape_debug())]
    InvalidExtends {
        /// The directive with this `extends`.
        id: ItemId,
        /// The attribute's value.
        extends: String,
        /// The bytes of the value in the directive's file.
        span: Range<usize>,
        /// The problem of the value.
        source: ItemIdError,
    },
    /// A directive extends a directive that cannot be used.
    #[error("directive `{id}` extends `{parent}`, which cannot be used")]
    Extends {
        /// The directive with this `extends`.
        id: ItemId,
        /// The directive that it extends.
        parent: ItemId,
        /// The reason why the parent cannot be used.
        source: Box<ResolveError>,
    },
    /// A `resolve_extends` hook names a directive that cannot be used (SPEC 7.3).
    #[error(
        "hook `{hook}` of `{location}` says what directive `{id}` extends; mend what it names, or narrow its `when`"
    )]
    HookExtends {
        /// The directive that the chain starts from.
        id: ItemId,
        /// The hook's id.
        hook: String,
        /// The hooks file that declares it.
        location: Location,
        /// The reason why the chain cannot be followed.
        source: Box<ResolveError>,
    },
    /// A hook is in a layer that its space may not use (SPEC 10.3).
    #[error(
        "hook `{hook}` of `{location}` is in layer {layer}; hooks of the {} space are in layer {}",
        .location.space,
        numbers(allowed)
    )]
    ForeignLayer {
        /// The hooks file.
        location: Location,
        /// The hook's id.
        hook: String,
        /// The layer that it names.
        layer: HookLayer,
        /// The layers that the space may use.
        allowed: Vec<HookLayer>,
    },
    /// A directive extends itself, directly or through others (SPEC 7.1).
    #[error(
        "Circular extends chain: {id} (chain: {}); remove `extends` from one of them",
        arrows(chain)
    )]
    Circular {
        /// The directive that occurs twice.
        id: ItemId,
        /// The chain from the leaf to the second occurrence.
        chain: Vec<ItemId>,
    },
    /// The chain has more directives than [`ExtendsChain::MAX_LINKS`](crate::ExtendsChain::MAX_LINKS).
    #[error("the extends chain of `{leaf}` has more than {limit} links; merge some of them")]
    ChainTooLong {
        /// The directive that the chain starts from.
        leaf: ItemId,
        /// The most directives that a chain may have.
        limit: usize,
    },
    /// A `<permissions>` block has entries that are not capability patterns.
    #[error(
        "directive `{id}` declares permissions that cannot be granted: {}",
        join_causes(problems)
    )]
    InvalidPermissions {
        /// The directive that declares them.
        id: ItemId,
        /// The directive's file.
        location: Location,
        /// Every bad entry, in document order.
        problems: Vec<PermissionProblem>,
    },
    /// A trust document that the operator named for this run does not count.
    #[error("trust document {number} of this run does not count")]
    RunTrust {
        /// The number of the document, counted from one.
        number: usize,
        /// The reason why it does not count.
        source: Box<rye_sign::TrustError>,
    },
    /// A file changed during a search.
    #[error("`{location}` changes while it is read; search again")]
    Changing {
        /// The file.
        location: Location,
    },
    /// The search cache could not be written.
    #[error("cannot write the search cache `{}`", .path.display())]
    Cache {
        /// The cache's file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Several problems at once.
    #[error("{} problems: {}", .problems.len(), join_causes(problems))]
    Several {
        /// Every problem; at least two.
        problems: Vec<ResolveError>,
    },
}

impl ResolveError {
    /// The single problems: those of [`ResolveError::Several`], or this error alone.
    pub fn problems(&self) -> &[ResolveError] {
        match self {
            Self::Several { problems } => problems,
            _ => slice::from_ref(self),
        }
    }

    /// Returns the outcome for a file that is no item, as one word for programs; `None` for other errors.
    pub fn code_of_place(&self) -> Option<&'static str> {
        match self {
            Self::Ambiguous { .. } => Some("ambiguous-id"),
            Self::LeavesSpace { .. } => Some("leaves-space"),
            Self::LinkedPolicy { .. } => Some("linked-policy"),
            Self::LinkedFile { .. } => Some("linked-file"),
            Self::TooLarge { .. } => Some("too-large"),
            Self::Misnamed { .. } => Some("no-id"),
            Self::NotAFile { .. } => Some("no-file"),
            Self::WrongType { .. } => Some("wrong-type"),
            Self::OtherCase { .. } => Some("other-case"),
            _ => None,
        }
    }

    /// Returns `true` if trust is missing, so that the caller reports a refusal instead of a failure (SPEC
    /// 12.1).
    pub fn is_unverified(&self) -> bool {
        match self {
            Self::Unverified { .. } | Self::Unsignable { .. } | Self::RunTrust { .. } => true,
            Self::Extends { source, .. } | Self::HookExtends { source, .. } => {
                source.is_unverified()
            }
            Self::Several { problems } => problems.iter().any(Self::is_unverified),
            _ => false,
        }
    }

    /// Removes the text of files that do not parse, because the text of a configuration may hold secrets.
    #[must_use]
    pub fn without_text(self) -> Self {
        match self {
            Self::Unparseable { location, text, source } => {
                let problems =
                    source.problems().iter().map(|problem| describe_problem(problem, &text));
                Self::UnparseableConfig { location, problems: problems.collect() }
            }
            Self::Several { problems } => {
                Self::Several { problems: problems.into_iter().map(Self::without_text).collect() }
            }
            other => other,
        }
    }

    /// Returns `Ok` for no problem, the problem itself for one, and [`ResolveError::Several`] for more.
    pub(crate) fn gather(mut problems: Vec<Self>) -> Result<(), Self> {
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            _ => Err(Self::Several { problems }),
        }
    }
}

/// An entry of a `<permissions>` block that is not a capability pattern.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PermissionProblem {
    /// The bytes of the entry in the directive's file.
    pub span: Range<usize>,
    /// The reason, with the pattern of the entry and the way to fix it.
    pub reason: PatternError,
}

/// Returns a hint for an unknown id: the other kind that has it and the use of that kind, else the nearest
/// id.
fn instead(other: Option<ItemKind>, suggestion: Option<&ItemId>) -> String {
    let what = match other {
        Some(ItemKind::Directive) => "that is the id of a directive, which `rye run` runs; ",
        Some(ItemKind::Knowledge) => "that is the id of knowledge, which `rye load` prints; ",
        Some(ItemKind::Tool) => {
            "that is the id of a tool, which a directive may call that has it under `<permissions>`; "
        }
        Some(ItemKind::Config) => "that is the id of a configuration; ",
        None => return suggestion.map(|id| format!("did you mean `{id}`? ")).unwrap_or_default(),
    };
    what.to_owned()
}

fn describe_problem(problem: &Problem, text: &str) -> String {
    let at = position(text, problem.span.start);
    format!("line {}, column {}: {}", at.line, at.column, problem.without_text())
}

fn extensions(kind: ItemKind) -> String {
    let each: Vec<String> = kind.extensions().iter().map(|it| format!("`.{it}`")).collect();
    each.join(", ")
}

fn list_locations(locations: &[Location]) -> String {
    if locations.is_empty() {
        return "no space at all".to_owned();
    }
    let quoted: Vec<String> = locations.iter().map(|location| format!("`{location}`")).collect();
    quoted.join(", ")
}

fn numbers(layers: &[HookLayer]) -> String {
    layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn arrows(chain: &[ItemId]) -> String {
    let ids: Vec<&str> = chain.iter().map(ItemId::as_str).collect();
    ids.join(" → ")
}

/// Joins all problems with their causes, because `source` can name only one.
fn join_causes<E: Error>(problems: &[E]) -> String {
    problems.iter().map(|problem| with_causes(problem)).collect::<Vec<_>>().join("; ")
}

/// Returns the message of `error` and of all its causes, on one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
