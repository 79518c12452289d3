//! The kinds of problems, as data.

use strum::{IntoStaticStr, VariantNames};

/// The kind of a problem. `Display` writes a lowercase fragment with the subject in backticks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[derive(IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum ProblemKind {
    /// No fence of the file holds a `<directive>` (SPEC 3.1).
    #[error("no directive found")]
    NoDirective,
    /// A fence is not closed.
    #[error("the `{language}` fence is not closed")]
    UnclosedFence {
        /// The word after the backticks.
        language: String,
    },
    /// Something is longer than allowed.
    #[error("the {what} is {bytes} bytes; at most {limit} are read")]
    TooLarge {
        /// The subject, such as `fence`.
        what: String,
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Something is nested deeper than allowed.
    #[error("{what} are nested deeper than {limit}")]
    TooDeep {
        /// The subject, such as `elements`.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// There are more of something than allowed.
    #[error("more than {limit} {what}")]
    TooMany {
        /// The subject, such as `elements`.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// A comment, CDATA section or tag runs to the end of the fence.
    #[error("{what} is not closed")]
    UnclosedMarkup {
        /// The markup, such as `a comment`.
        what: String,
    },
    /// A start tag without its end tag.
    #[error("`<{name}>` is not closed")]
    UnclosedElement {
        /// The element's name.
        name: String,
    },
    /// An end tag without its start tag.
    #[error("`</{name}>` closes nothing")]
    UnexpectedClose {
        /// The name in the end tag.
        name: String,
    },
    /// A `<` that is not the start of a tag.
    #[error("`<` starts no tag")]
    BareLessThan,
    /// A `&` that is not the start of an entity.
    #[error("`&` starts no entity")]
    BareAmpersand,
    /// An unknown entity, or a character reference without a character.
    #[error("unknown entity `&{name};`")]
    UnknownEntity {
        /// The text between `&` and `;`.
        name: String,
    },
    /// A control character that XML does not allow.
    #[error("character U+{code:04X} is not allowed")]
    ForbiddenCharacter {
        /// The character's code point.
        code: u32,
    },
    /// Text in a tag that is not `name="value"`.
    #[error("malformed attribute of `<{element}>`")]
    MalformedAttribute {
        /// The element's name.
        element: String,
    },
    /// An attribute is written twice in one tag.
    #[error("attribute `{name}` of `<{element}>` is given twice")]
    DuplicateAttribute {
        /// The element's name.
        element: String,
        /// The attribute's name.
        name: String,
    },
    /// A DOCTYPE, a processing instruction or an XML declaration.
    #[error("{what} is not allowed")]
    ForbiddenMarkup {
        /// The markup, such as `a DOCTYPE`.
        what: String,
    },
    /// Text or a second element outside the root element of the fence.
    #[error("content after `</directive>` inside the fence")]
    OutsideRoot,
    /// An element that its parent does not allow.
    #[error("unknown element `<{name}>` in `<{parent}>`")]
    UnknownElement {
        /// The parent's name.
        parent: String,
        /// The element's name.
        name: String,
    },
    /// An attribute that its element does not allow.
    #[error("unknown attribute `{name}` of `<{element}>`")]
    UnknownAttribute {
        /// The element's name.
        element: String,
        /// The attribute's name.
        name: String,
    },
    /// An unknown limit (SPEC D8).
    #[error("unknown limit `{name}`")]
    UnknownLimit {
        /// The attribute's name.
        name: String,
    },
    /// Both spellings of one limit in one element (SPEC D8).
    #[error("`{name}` and `{other}` are the same limit")]
    LimitTwice {
        /// The second spelling.
        name: String,
        /// The first spelling.
        other: String,
    },
    /// A required attribute is missing.
    #[error("`<{element}>` has no `{name}`")]
    MissingAttribute {
        /// The element's name.
        element: String,
        /// The attribute's name.
        name: String,
    },
    /// A required child element is missing.
    #[error("`<{element}>` has no {what}")]
    MissingContent {
        /// The element's name.
        element: String,
        /// The missing content, such as `action`.
        what: String,
    },
    /// Something that may occur once is declared twice.
    #[error("{what} is declared twice")]
    Duplicate {
        /// The subject, such as "`<permissions>`" or "input `a`".
        what: String,
    },
    /// Text where only elements are allowed.
    #[error("text in `<{element}>`")]
    UnexpectedText {
        /// The element's name.
        element: String,
    },
    /// Something that must not be empty is empty.
    #[error("{what} is empty")]
    Empty {
        /// The subject, such as "`<tool>`".
        what: String,
    },
    /// A value of the wrong form.
    #[error("{what} is `{value}`, not {expected}")]
    BadValue {
        /// The subject, such as "`turns`".
        what: String,
        /// The value as written, shortened.
        value: String,
        /// The correct form, such as `a whole number`.
        expected: String,
    },
    /// A word that is not in a closed list.
    #[error("unknown {what} `{value}`")]
    UnknownValue {
        /// The kind of the word, such as `type` or `event`.
        what: String,
        /// The word as written, shortened.
        value: String,
    },
    /// A condition's expression that is not `path op literal`, joined by `and` and `or`.
    #[error("the condition cannot be read: {why}")]
    UnreadableCondition {
        /// The missing or unexpected part.
        why: String,
    },
    /// A value for an operator without an operand.
    #[error("`{operator}` takes no value")]
    UnusedValue {
        /// The operator.
        operator: String,
    },
    /// A hook on `resolve_extends` in a directive, which is parsed after that event (SPEC 7.3).
    #[error("a directive cannot have a hook on `resolve_extends`")]
    MisplacedEvent,
    /// A key of a hook that its event does not use.
    #[error("`{key}` has no meaning for event `{event}`")]
    UselessKey {
        /// The key.
        key: String,
        /// The event of the hook.
        event: String,
    },
    /// `*` together with other permissions in one element.
    #[error("`*` in `<{element}>` stands beside other permissions")]
    WildcardBeside {
        /// The element's name.
        element: String,
    },
    /// `<output>` elements together with elements of the dict form.
    #[error("`<outputs>` mixes `<output>` and `<{name}>`")]
    MixedOutputs {
        /// The name of an element of the dict form.
        name: String,
    },
    /// Note: an unknown metadata element, which is ignored.
    #[error("unknown metadata `<{name}>`")]
    UnknownMetadata {
        /// The element's name.
        name: String,
    },
    /// Note: text in an element that uses only its attributes.
    #[error("text in `<{element}>` is not used")]
    UnusedText {
        /// The element's name.
        element: String,
    },
    /// Note: the old form `<cap>` of a permission.
    #[error("`<cap>` is the old form of a permission")]
    OldCapability,
    /// Note: a part of the body inside the fence (SPEC D9).
    #[error("`<{element}>` stands inside the fence")]
    BodyInFence {
        /// `process` or `success_criteria`.
        element: String,
    },
    /// Note: a step that cannot be parsed.
    #[error("{what} cannot be read as a step")]
    UnreadableStep {
        /// The subject, such as "`<step>`" or "`rye_execute(…)`".
        what: String,
    },
    /// Note: an element in a step that is no call, and that nothing carries out.
    #[error("`<{name}>` is no call, and nothing carries it out")]
    UncalledElement {
        /// The element's name.
        name: String,
    },
    /// Note: a step at a place where one may not expect it.
    #[error("a step stands {place}, and is carried out all the same")]
    StrayStep {
        /// The place, such as "outside of `<process>`".
        place: String,
    },
    /// Note: a step without an end tag, which ends before the next step or with the process.
    #[error("`<step>` has no end tag")]
    UnclosedStep,
    /// Note: metadata of a knowledge entry in an older form instead of a fence.
    #[error("metadata stands {form}")]
    OldMetadata {
        /// The form, such as `in front matter`.
        form: String,
    },
    /// The text is not YAML, TOML or JSON.
    #[error("invalid {format}: {message}")]
    Syntax {
        /// `YAML`, `TOML` or `JSON`.
        format: String,
        /// The message of the parser, without a place.
        message: String,
    },
    /// A key is given twice in one mapping.
    #[error("key `{key}` is given twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A feature of a data format that is not supported.
    #[error("{what} is not supported")]
    Unsupported {
        /// The feature, such as `a YAML tag`.
        what: String,
    },
    /// An unknown key.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A required key is missing.
    #[error("no `{key}` is given")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A value of the wrong type.
    #[error("{what} is {found}, not {expected}")]
    WrongType {
        /// The subject, such as "`tags`" or `the file`.
        what: String,
        /// The actual type, such as `a number`.
        found: String,
        /// The correct type, such as `text`.
        expected: String,
    },
    /// A key of another executor than the declared one.
    #[error("`{key}` does not belong to executor `{executor}`")]
    ForeignKey {
        /// The key.
        key: String,
        /// The declared executor.
        executor: String,
    },
    /// A file extension that is not allowed for the kind of the file.
    #[error("unknown extension `{extension}`")]
    UnknownExtension {
        /// The extension without its dot.
        extension: String,
    },
    /// A script without the comment block of a tool (SPEC 5.2).
    #[error("no `/// rye` header found")]
    NoToolHeader,
    /// A script whose `#!` line names another language than its extension.
    #[error("the `#!` line names `{interpreter}`, which is not what runs `.{extension}`")]
    OtherInterpreter {
        /// The program in the `#!` line.
        interpreter: String,
        /// The extension without its dot.
        extension: String,
    },
    /// A script whose header names another language than its extension.
    #[error("the header says `language: {language}`, and the file is a `.{extension}`")]
    OtherLanguage {
        /// The language as the header has it.
        language: String,
        /// The extension without its dot.
        extension: String,
    },
    /// A script in which only the extension says its language.
    #[error("nothing in the script says that it is a `.{extension}`")]
    NoLanguage {
        /// The extension without its dot.
        extension: String,
    },
    /// A script header that is not closed, or that contains a line without a comment sign.
    #[error("the `/// rye` header is not closed")]
    UnclosedHeader,
}

impl ProblemKind {
    /// All codes.
    pub const CODES: &'static [&'static str] = Self::VARIANTS;

    /// Returns a short, stable name for programs, such as `unknown-limit`.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}
