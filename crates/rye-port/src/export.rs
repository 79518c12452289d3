//! Directives as files of other agent programs (SPEC 17.4, 17.5).

mod agents;
mod calling;
mod file;
mod left_out;
mod markdown;
mod names;
mod plugin;
mod skill;

pub use self::agents::{agents_section, subagent};
pub use self::calling::Access;
pub use self::file::ExportedFile;
pub use self::left_out::left_out;
pub use self::names::skill_names;
pub use self::plugin::{PluginFacts, PluginName, PluginNameError, plugin};
pub use self::skill::{ExportedSkill, SkillFrontmatter, skill};
