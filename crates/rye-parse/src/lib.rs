//! Turns a Rye directive, knowledge entry, tool manifest or config file into a value, or into *every* problem in it.
//!
//! The crate is pure: it takes text and returns a value or problems. It reads neither a file nor a clock nor the
//! environment. It does not interpret permissions and verifies no signature. A signature comment at the start is
//! skipped, but every span is a byte range of the whole file. No input makes the crate panic.
//!
//! # Example: a directive
//!
//! ````
//! let source = r#"# Greet
//!
//! ```xml
//! <directive name="demo/greet" version="1.0.0">
//!   <metadata>
//!     <description>Greets a person.</description>
//!     <limits turns="4" spend="0.10"/>
//!   </metadata>
//!   <inputs><input name="person" required="true">The person to greet</input></inputs>
//! </directive>
//! ```
//!
//! Say hello to {input:person}.
//! "#;
//!
//! let directive = rye_parse::directive(source)?;
//! assert_eq!(directive.name.value, "demo/greet");
//! assert_eq!(directive.body.value, "Say hello to {input:person}.");
//! # Ok::<(), rye_parse::ParseError>(())
//! ````
//!
//! # Example: its problems
//!
//! ````
//! let source = "```xml\n<directive name=\"a\"><metadata><limits turn=\"4\"/></metadata></directive>\n```\n";
//!
//! let error = rye_parse::directive(source).unwrap_err();
//! let problem = &error.problems()[0];
//! assert_eq!(problem.kind.code(), "unknown-limit");
//! assert_eq!(&source[problem.span.clone()], "turn");
//! assert_eq!(rye_parse::position(source, problem.span.start).line, 2);
//! ````

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod span;

mod problem;

mod name;
mod placeholder;
mod xml;

mod condition;
mod directive;
mod steps;

mod strict;
mod yaml;

mod config;
mod hooks;
mod knowledge;
mod tool;

mod reference;

mod suggest;

mod hidden;

mod line_difference;

pub use condition::{Condition, Operator};
pub use config::{PlacedConfig, config, placed_config};
pub use directive::context::{ContextContent, ContextEntry, ContextPosition};
pub use directive::cost::{Cost, CostContext};
pub use directive::hooks::Hook;
pub use directive::limits::Limits;
pub use directive::model::Model;
pub use directive::permissions::{Acknowledge, PermissionEntry, Permissions};
pub use directive::ports::{DictOutput, Input, Output, Outputs};
pub use directive::{Directive, directive};
pub use hidden::hidden_characters;
pub use hooks::{ConfigHook, hooks};
pub use knowledge::{Knowledge, knowledge, knowledge_yaml, plain_text};
pub use line_difference::{LineComparer, unified_diff};
pub use placeholder::{Fallback, Placeholder, StepReference, placeholders, step_references};
pub use problem::{ParseError, Problem, ProblemKind};
pub use reference::FORMAT_REFERENCE;
pub use span::{Position, Spanned, position};
pub use steps::{Action, Primary, Step};
pub use suggest::{did_you_mean, nearest_name, quoted};
pub use tool::{Executor, PlacedTool, ToolManifest, placed_tool, tool};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
