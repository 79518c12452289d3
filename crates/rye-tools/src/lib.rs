//! Gives a thread its tools.
//!
//! The file tools ([`fs`]) see one folder, the project, and nothing else: no `..`, no absolute path, no link that leads
//! out, no device, and no key or transcript that is not theirs to change. [`builtin`] hands them out behind
//! [`rye_thread::Tool`], so that a call takes a permit and its result is a JSON object.
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
mod process;
mod program;
mod repository;
pub mod sandbox;
mod self_starting;
mod shell;
mod temporary;
mod web;

pub use builtin::{builtin, builtins, effect};
pub use process::{
    ENVIRONMENT, Placing, ProcessHost, Processes, QUARANTINED, Rules, Template, TemplateError,
    UNCHECKED, Variables,
};
pub use program::{CommandTool, ScriptTool};
pub use self_starting::SELF_STARTING;
pub use shell::{BASH, bash};
pub use temporary::{TemporaryFolder, temporary_file};
pub use web::{
    AddressFault, Credential, CredentialError, FETCH, HostPattern, HttpBody, HttpTool,
    HttpToolError, MAX_REDIRECTS, Names, Origin, RuleError, SEND, SystemNames, Web, WebError,
    WebRules, fetch, reserved,
};
