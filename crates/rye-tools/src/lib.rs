//! Tools for threads.
//!
//! The file tools ([`fs`]) reach one folder, the project, and nothing outside of it. They refuse `..`,
//! absolute paths, links that lead out, devices, and the keys and transcripts of the project. [`builtin`]
//! returns them as [`rye_thread::Tool`]: a call takes a permit, and its result is a JSON object.
//!
//! ```
//! use rye_tools::fs::{self, Edit, GrepQuery, Lines, LsQuery, Root, Stop};
//!
//! let project = tempfile::tempdir()?;
//! let root = Root::open(project.path())?;
//!
//! fs::write(&root, "notes/groceries.md", "# Groceries for the week\n\n- flour\n")?;
//! fs::edit(&root, "notes/groceries.md", &[Edit::new("- flour\n", "- flour\n- salt\n")])?;
//! assert_eq!(fs::ls(&root, &LsQuery::new("notes").first_lines())?.listing(), "- groceries.md: Groceries for the week");
//! assert_eq!(fs::grep(&root, &GrepQuery::new("sal."), &Stop::new())?.files[0].lines, ["4:- salt"]);
//! assert_eq!(fs::read(&root, "notes/groceries.md", Lines::all())?.content, "# Groceries for the week\n\n- flour\n- salt\n");
//!
//! let refused = fs::read(&root, "../secret", Lines::all()).unwrap_err();
//! assert!(refused.is_refusal());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod builtin;
pub mod fs;
pub mod mcp;
mod program;
mod program_result;
mod self_starting;
mod shell;

pub use builtin::{builtin, builtins, effect};
pub use program::{CommandTool, ScriptTool};
pub use program_result::{QUARANTINED, SELF_STARTING, UNCHECKED};
pub use shell::{BASH, bash};
