//! Closed lists of words: their names, their order, and the error for any other word.

/// A text that is not in a closed list of words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {list} `{text}`; valid: `{}`", .valid.join("`, `"))]
pub struct UnknownWord {
    /// The list, such as `event`.
    pub list: &'static str,
    /// The text.
    pub text: String,
    /// The words of the list.
    pub valid: &'static [&'static str],
}

impl UnknownWord {
    /// Creates the error for a text that is not in a list of this name.
    #[must_use]
    pub fn new(list: &'static str, text: &str, valid: &'static [&'static str]) -> Self {
        Self { list, text: text.to_owned(), valid }
    }
}

/// Declares an enum whose values are words of files: `words! { "event"; … enum HookEvent { … } }`.
///
/// A value has its name in snake case, in text and in JSON. `ALL` and `NAMES` are in the order of the declaration. A text that is no name
/// is an [`UnknownWord`] of the list.
macro_rules! words {
    ($list:literal; $(#[$meta:meta])* pub enum $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray, strum::VariantNames)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case", parse_err_fn = Self::unknown, parse_err_ty = crate::UnknownWord)]
        pub enum $name { $($body)* }

        impl $name {
            /// All values, in the order of their declaration.
            pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

            /// All names, in the same order.
            pub const NAMES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

            /// Returns the name in files.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                self.into()
            }

            fn unknown(text: &str) -> crate::UnknownWord {
                crate::UnknownWord::new($list, text, Self::NAMES)
            }
        }
    };
}
pub(crate) use words;

/// Gives types the JSON of their text, which `Display` writes and `FromStr` reads.
macro_rules! as_text {
    ($($type:ident $(with $format:literal)?;)*) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" $(, "format": $format)? })
            }
        }
    )*};
}
pub(crate) use as_text;

/// Makes `text` safe for a message: shortens it if it is long, and escapes control characters.
pub(crate) fn sanitize(text: &str) -> String {
    const MAX_CHARACTERS: usize = 120;
    // A terminal might act on a control character.
    let visible = |character: char| match character.is_control() {
        true => character.escape_default().collect::<Vec<char>>(),
        false => vec![character],
    };
    let mut shown: String = text.chars().take(MAX_CHARACTERS).flat_map(visible).collect();
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}
