//! Errors of file operations.

use std::path::PathBuf;
use std::{fmt, io};

use super::{Area, EditProblem};

/// The error of a file operation. [`Error::is_refusal`] separates refusals from failures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder for a root cannot be opened.
    #[error("cannot open the project folder `{}`", .path.display())]
    OpenRoot {
        /// The folder as it was given.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The text is not a path below the root.
    #[error("the path `{path}` is refused: {fault}")]
    Malformed {
        /// The path as asked, shortened and with control characters escaped.
        path: String,
        /// The first fault of the path.
        fault: PathFault,
    },
    /// A link in the path has an absolute target, or one outside of the root.
    #[error("the path `{path}` is refused: the link `{link}` leads out of the project")]
    Leaves {
        /// The path as asked.
        path: String,
        /// The link, as a path below the root.
        link: String,
    },
    /// The path belongs to an area that is protected from tools.
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
    /// The path goes through more than 40 links.
    #[error("the path `{path}` is refused: it goes through more than {maximum} links", maximum = super::path_limits::MAX_LINKS)]
    TooManyLinks {
        /// The path as asked.
        path: String,
    },
    /// The path goes through more than 100 folders, after links are resolved.
    #[error("the path `{path}` is refused: it goes through more than {maximum} folders", maximum = super::path_limits::MAX_DEPTH)]
    TooDeep {
        /// The path as asked.
        path: String,
    },
    /// The path does not exist, or is a link without a target.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The path as asked.
        path: String,
    },
    /// The call makes new files only, and this one exists.
    #[error("`{path}` exists and is not replaced")]
    Exists {
        /// The path as asked.
        path: String,
    },
    /// The path is a folder, and the call needs a file.
    #[error("`{path}` is a folder, not a file")]
    IsFolder {
        /// The path as asked.
        path: String,
    },
    /// The call needs a folder, here or as a part of the path.
    #[error("`{path}` is not a folder, or goes through a file")]
    NotFolder {
        /// The path as asked.
        path: String,
    },
    /// The mode of the file allows no writing, so the file is not replaced either.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The path as asked.
        path: String,
    },
    /// The file or content is larger than one call may read or write.
    #[error("`{path}` is too large: {bytes} bytes, at most {maximum} are allowed")]
    TooLarge {
        /// The path as asked.
        path: String,
        /// The size of the file or content.
        bytes: u64,
        /// The largest allowed size.
        maximum: u64,
    },
    /// The file is not UTF-8.
    #[error("`{path}` is not UTF-8 text")]
    NotText {
        /// The path as asked.
        path: String,
    },
    /// The first requested line does not exist.
    #[error("`{path}` has {lines} lines, so there is no line {offset}")]
    PastEnd {
        /// The path as asked.
        path: String,
        /// The requested line, counted from 1.
        offset: u64,
        /// The number of lines in the file.
        lines: u64,
    },
    /// The file was changed between reading and replacing.
    #[error(
        "`{path}` was changed by another program meanwhile, so nothing was written; read it again"
    )]
    Changed {
        /// The path as asked.
        path: String,
    },
    /// Some edits cannot be applied. None was made.
    #[error("nothing was written to `{path}`: {}", join_problems(.problems))]
    Edits {
        /// The path as asked.
        path: String,
        /// The edits that cannot be applied, in order.
        problems: Vec<EditProblem>,
    },
    /// A glob or a regular expression is invalid.
    #[error("the {language} `{pattern}` cannot be used: {reason}")]
    Pattern {
        /// `glob` or `regular expression`.
        language: &'static str,
        /// The pattern as asked, shortened and with control characters escaped.
        pattern: String,
        /// The reason.
        reason: String,
    },
    /// A requested number is over its limit.
    #[error("{what} is {asked}, at most {maximum} is allowed")]
    OverLimit {
        /// The name of the number.
        what: &'static str,
        /// The requested value.
        asked: usize,
        /// The largest allowed value.
        maximum: usize,
    },
    /// The system refused the operation, or it failed.
    #[error("cannot {action} `{path}`")]
    Io {
        /// The operation: `open`, `read`, `write`, …
        action: &'static str,
        /// The path as asked.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// Returns `true` if the confinement refused the operation, and `false` if the operation failed.
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

/// Returns an error if `asked` is over `maximum`.
pub(super) fn refuse_over(what: &'static str, asked: usize, maximum: usize) -> Result<(), Error> {
    if asked > maximum { Err(Error::OverLimit { what, asked, maximum }) } else { Ok(()) }
}

fn join_problems(problems: &[EditProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The faults in the text of a path. They are found before the file system is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFault {
    /// The path is empty.
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
