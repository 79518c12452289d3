//! Kinds of items with their folders and file extensions.

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// The kind of an item, which fixes its folder and its file types (SPEC 1.2).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_fn = ItemKindError::new, parse_err_ty = ItemKindError)]
pub enum ItemKind {
    /// A workflow that an agent follows, in Markdown.
    Directive,
    /// Text or metadata that is composed into prompts or loaded on request.
    Knowledge,
    /// A tool that a thread may call: a manifest, or a script that holds one.
    Tool,
    /// A settings file. The files of all spaces are merged (SPEC 4.4).
    Config,
}

impl ItemKind {
    /// Every kind, in the order that SPEC 1.2 names their folders.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The word that signatures and messages use, for example `directive`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The name of the folder below `.ai`, for example `directives`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Directive => "directives",
            Self::Knowledge => "knowledge",
            Self::Tool => "tools",
            Self::Config => "config",
        }
    }

    /// The file extensions that make a file an item of this kind, without their dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Directive => &["md"],
            Self::Knowledge => &["md", "yaml", "yml"],
            Self::Tool => &["yaml", "yml", "py", "sh", "js", "ts", "rb"],
            Self::Config => &["yaml", "yml", "toml", "json"],
        }
    }
}

/// The error for a word that is not a kind of item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no kind of item; use `directive`, `knowledge`, `tool` or `config`", .word.escape_debug())]
pub struct ItemKindError {
    word: String,
}

impl ItemKindError {
    fn new(word: &str) -> Self {
        Self { word: word.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_round_trips() {
        for &kind in ItemKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }

    #[test]
    fn an_unknown_word_names_the_known_ones() {
        let error = "directives".parse::<ItemKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`directives` is no kind of item; use `directive`, `knowledge`, `tool` or `config`"
        );
    }
}
