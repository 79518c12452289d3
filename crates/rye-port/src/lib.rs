//! Turns files of other agent programs into drafts for Rye, and directives into files of theirs (SPEC 17).
//!
//! The crate is pure: it takes bytes and returns drafts and reports. It reads and writes no file and asks no network. No input makes
//! the crate panic.

mod asked;
mod document;
mod draft;
mod export;
mod fields;
mod format;
mod front_matter;
mod import;
mod literal;
mod models;
mod names;
mod placing;
mod report;
mod secrets;
mod source;

pub use document::servers::{ServersError, with_servers};
pub use draft::ImportedDraft;
pub use export::{
    Access, ExportedFile, ExportedSkill, PluginFacts, PluginName, PluginNameError,
    SkillFrontmatter, agents_section, left_out, plugin, skill, skill_names, subagent,
};
pub use format::{Format, Found, recognise, recognise_file};
pub use import::{Import, ImportError, ImportOptions, Target, import};
pub use report::{Asked, Carried, Decision, LeftOut};
pub use source::{Source, SourceFile};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
