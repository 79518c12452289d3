//! Directives as files of other agent programs (SPEC 17.4, 17.5).

mod calling;
mod markdown;
mod names;
mod skill;

pub use self::calling::Access;
pub use self::names::skill_names;
pub use self::skill::{ExportedSkill, SkillFrontmatter, skill};
