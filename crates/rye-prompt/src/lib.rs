//! Renders the exact text that a model is sent.
//!
//! Every function here is pure: equal items, inputs and options give equal bytes. There is no template engine, and no
//! function reads a file, a clock or the environment. A prompt can therefore be printed, compared and pinned without a
//! run. The steps are separate, and each has its own error:
//!
//! 1. [`Inputs::bind`] checks the given values against the declared inputs;
//! 2. [`context_references`] lists the knowledge to which an `extends` chain refers, and [`compose`] puts it in order;
//! 3. [`render`] makes the directive prompt, with the inputs placed;
//! 4. [`opening`] joins prompt and context into the first messages of a thread.
//!
//! # Example
//!
//! ````
//! use std::collections::BTreeMap;
//!
//! use rye_prompt::{Inputs, Link, compose, opening, render};
//! use rye_types::ReturnStyle;
//!
//! let directive = rye_parse::directive(r#"# Greet
//!
//! ```xml
//! <directive name="greet" version="1.0.0">
//!   <metadata><description>Greets someone</description></metadata>
//!   <inputs><input name="person" type="string" required="true">The person to greet</input></inputs>
//!   <outputs><output name="greeting" required="true">What was said</output></outputs>
//! </directive>
//! ```
//!
//! Say hello to {input:person}.
//! "#)?;
//!
//! let leaf = Link::new("greet", &directive);
//! let given = BTreeMap::from([("person".to_owned(), "Ada".into())]);
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
//! # Pitfalls
//!
//! - A value is placed once and never scanned again: a value that looks like a placeholder stays as it is.
//! - A value cannot close the frame around it, but is otherwise verbatim. It can still *say* anything to the model. The
//!   actions of the model are limited by the thread's authority, never by its prompt.
//! - This crate does not know whether a directive is verified. Callers must pass only verified ones.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod link;

mod inputs;

mod context;
mod hook_context;

mod placement;
mod render;

mod steps;
mod system;

mod opening;

mod json;

pub use context::{
    ComposeError, Context, ContextReference, Origin, Piece, Suppression, compose,
    context_references,
};
pub use hook_context::{HookEntry, Wrap, element_name};
pub use inputs::{BindError, BindProblem, Inputs, ValueOrigin};
pub use link::Link;
pub use opening::{Opening, opening};
pub use placement::{Part, RenderError, RenderProblem};
pub use render::{body, outputs, render, template};
pub use steps::{known_steps, steps};
pub use system::{SystemFacts, TemplateError, system};
