//! Renders the exact text that a model is sent.
//!
//! Every function here is pure: equal items, inputs and options give equal bytes. There is no
//! template engine, and nothing reads a file, a clock or the environment, so a prompt can be
//! printed, compared and pinned without being run. The steps are separate, and each has its own
//! error:
//!
//! 1. [`Inputs::bind`] checks the given values against the declared inputs;
//! 2. [`wanted`] lists the knowledge that an `extends` chain asks for, and [`compose`] puts it in
//!    order;
//! 3. [`render`] makes the directive prompt, with the inputs placed;
//! 4. [`opening`] joins prompt and context into the messages that a thread begins with.
//!
//! # Example
//!
//! ````
//! use std::collections::BTreeMap;
//!
//! use rye_prompt::{Inputs, Link, ReturnStyle, compose, opening, render};
//!
//! let directive = rye_parse::directive(r#"# Greet
//!
//! ```xml
//! <directive name="greet" version="1.0.0">
//!   <metadata><description>Greets someone</description></metadata>
//!   <inputs><input name="who" type="string" required="true">Whom to greet</input></inputs>
//!   <outputs><output name="greeting" required="true">What was said</output></outputs>
//! </directive>
//! ```
//!
//! Say hello to {input:who}.
//! "#)?;
//!
//! let leaf = Link::new("greet", &directive);
//! let given = BTreeMap::from([("who".to_owned(), "Ada".into())]);
//! let inputs = Inputs::bind(&directive.inputs, &given)?;
//! let prompt = render(leaf, None, &inputs, ReturnStyle::Call)?;
//! assert_eq!(
//!     prompt,
//!     r#"<directive name="greet">
//! <description>Greets someone</description>
//! Say hello to Ada.
//! When you have completed all steps, return structured results:
//! `rye_execute(item_type="tool", item_id="rye/agent/threads/directive_return", parameters={"greeting": "<What was said (string) [required]>"})`
//! </directive>"#
//! );
//!
//! let context = compose(&[leaf], &BTreeMap::new())?;
//! let opening = opening(&context, &prompt, None);
//! assert_eq!(opening.system, None);
//! assert_eq!(opening.first_user_message, prompt);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ````
//!
//! # What will bite
//!
//! - A value is placed once and never scanned again: a value that looks like a placeholder stays as
//!   it is.
//! - A value cannot close the frame that it sits in, but it is otherwise verbatim. It can still
//!   *say* anything to the model; what the model may *do* is decided by the thread's authority,
//!   never by its prompt.
//! - This crate does not know whether a directive is verified. The caller hands over only what is.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod link;

mod inputs;

mod context;
mod hooked;

mod place;
mod render;

mod steps;
mod system;

mod opening;

mod json;

pub use context::{
    ComposeError, Context, Origin, Piece, Slot, Suppression, Wanted, compose, wanted,
};
pub use hooked::{HookEntry, Wrap};
pub use inputs::{BindError, BindProblem, Inputs, ValueOrigin};
pub use link::Link;
pub use opening::{Opening, opening};
pub use place::{Part, RenderError, RenderProblem};
pub use render::{ReturnStyle, UnknownReturnStyle, body, render, template};
pub use steps::steps;
pub use system::{SystemFacts, TemplateError, system};
