//! Refusals and failures of file operations.

use std::path::PathBuf;
use std::{fmt, io};

use super::{Area, EditProblem};

/// Why a file operation was refused or failed; [`Error::is_refusal`] tells the two apart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder that was to become a root cannot be opened.
    #[error("cannot open the project folder `{}`", .path.display())]
    OpenRoot {
        /// The folder as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text is no path below the root.
    #[error("the path `{path}` is refused: {fault}")]
    Malformed {
        /// The path as asked, shortened and with control characters escaped.
        path: String,
        /// The first thing that is wrong with it.
        fault: PathFault,
    },
    /// A link on the way has a target outside of the root, or an absolute one.
    #[error("the path `{path}` is refused: the link `{link}` leads out of the project")]
    Leaves {
        /// The path as asked.
        path: String,
        /// The link, by its place below the root.
        link: String,
    },
    /// The place belongs to an area that tools do not touch.
    #[error("the path `{path}` is refused: {area}")]
    Protected {
        /// The path as asked.
        path: String,
        /// The area and its rule.
        area: Area,
    },
    /// A device, FIFO or socket.
    #[error("the path `{path}` is refused: it is neither a regular file nor a folder")]
    Special {
        /// The path as asked.
        path: String,
    },
    /// More than 40 links on the way.
    #[error("the path `{path}` is refused: it goes through more than {maximum} links", maximum = super::walk::MAX_LINKS)]
    TooManyLinks {
        /// The path as asked.
        path: String,
    },
    /// More than 100 folders on the way, after links are resolved.
    #[error("the path `{path}` is refused: it goes through more than {maximum} folders", maximum = super::walk::MAX_DEPTH)]
    TooDeep {
        /// The path as asked.
        path: String,
    },
    /// Nothing is there, or a link points to nothing.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The path as asked.
        path: String,
    },
    /// A new file was wanted.
    #[error("`{path}` exists and is not replaced")]
    Exists {
        /// The path as asked.
        path: String,
    },
    /// A file was wanted.
    #[error("`{path}` is a folder, not a file")]
    IsFolder {
        /// The path as asked.
        path: String,
    },
    /// A folder was wanted, here or on the way.
    #[error("`{path}` is not a folder, or goes through a file")]
    NotFolder {
        /// The path as asked.
        path: String,
    },
    /// The file's mode lets nobody write, so it is not replaced either.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The path as asked.
        path: String,
    },
    /// More bytes than one call may move.
    #[error("`{path}` is too large: {bytes} bytes, at most {maximum} are allowed")]
    TooLarge {
        /// The path as asked.
        path: String,
        /// The size that was met.
        bytes: u64,
        /// The size that is allowed.
        maximum: u64,
    },
    /// The file is not UTF-8.
    #[error("`{path}` is not UTF-8 text")]
    NotText {
        /// The path as asked.
        path: String,
    },
    /// The first line that was asked for does not exist.
    #[error("`{path}` has {lines} lines, so there is no line {offset}")]
    PastEnd {
        /// The path as asked.
        path: String,
        /// The line asked for, counted from 1.
        offset: u64,
        /// How many lines the file has.
        lines: u64,
    },
    /// The file became another one between being read and being replaced.
    #[error(
        "`{path}` was changed by somebody else in the meantime, so nothing was written; read it again"
    )]
    Changed {
        /// The path as asked.
        path: String,
    },
    /// Edits that do not fit the file; none of them was made.
    #[error("nothing was written to `{path}`: {}", listed(.problems))]
    Edits {
        /// The path as asked.
        path: String,
        /// What is wrong with each edit that does not fit, in the order of the edits.
        problems: Vec<EditProblem>,
    },
    /// A glob or a regular expression that cannot be used.
    #[error("the {language} `{pattern}` cannot be used: {reason}")]
    Pattern {
        /// `glob` or `regular expression`.
        language: &'static str,
        /// The pattern as asked, shortened and with control characters escaped.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A number that was asked for is over its limit.
    #[error("{what} is {asked}, at most {maximum} is allowed")]
    OverLimit {
        /// What was asked for too much of.
        what: &'static str,
        /// How much was asked for.
        asked: usize,
        /// How much is allowed.
        maximum: usize,
    },
    /// The system refused or failed.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was tried: `open`, `read`, `write`, …
        action: &'static str,
        /// The path as asked.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether confinement said no, rather than the file system.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Malformed { .. }
                | Self::Leaves { .. }
                | Self::Protected { .. }
                | Self::Special { .. }
                | Self::TooManyLinks { .. }
                | Self::TooDeep { .. }
        )
    }
}

/// Refuses a number over its limit.
pub(super) fn refuse_over(what: &'static str, asked: usize, maximum: usize) -> Result<(), Error> {
    if asked > maximum { Err(Error::OverLimit { what, asked, maximum }) } else { Ok(()) }
}

fn listed(problems: &[EditProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What is wrong with the text of a path, before the file system is asked anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFault {
    /// No character at all.
    Empty,
    /// More than 4,096 bytes, or a part of more than 255.
    TooLong,
    /// Starts with `/`.
    Absolute,
    /// Has a `..` part, or one that some file systems read as `..`.
    Parent,
    /// Has a `\`.
    Backslash,
    /// Has more than 100 parts.
    TooDeep,
    /// Has a control character, NUL and line ends included.
    Control,
    /// Starts with `~/`, which only a shell expands.
    Home,
    /// Starts with a drive letter.
    Drive,
    /// Is a URL.
    Url,
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => {
                "it is empty; give a path below the project folder, or `.` for the folder itself"
            }
            Self::TooLong => "it is too long; a path has at most 4096 bytes, each part at most 255",
            Self::TooDeep => "it has more than 100 parts",
            Self::Absolute => "it is absolute; give it relative to the project folder",
            Self::Parent => "it has a `..` part; give it from the project folder downward",
            Self::Backslash => "it has a backslash; separate folders with `/`",
            Self::Control => "it has a control character",
            Self::Home => "`~` is not expanded; give it relative to the project folder",
            Self::Drive => "it starts with a drive; give it relative to the project folder",
            Self::Url => "it is a URL; give a path below the project folder",
        })
    }
}
