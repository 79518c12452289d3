//! The kinds of problems, as data.

/// What is wrong. `Display` is a lowercase fragment that names the thing in backticks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// No fence of the file holds a `<directive>` (SPEC 3.1).
    #[error("no directive found")]
    NoDirective,
    /// The fence that was opened is never closed.
    #[error("the `{language}` fence is not closed")]
    UnclosedFence {
        /// The word after the backticks.
        language: String,
    },
    /// Something is longer than is read.
    #[error("the {what} is {bytes} bytes; at most {limit} are read")]
    TooLarge {
        /// What is too long, such as `fence`.
        what: String,
        /// Its length.
        bytes: usize,
        /// The most that is read.
        limit: usize,
    },
    /// Something is nested deeper than is read.
    #[error("{what} are nested deeper than {limit}")]
    TooDeep {
        /// What is nested, such as `elements`.
        what: String,
        /// The greatest depth that is read.
        limit: usize,
    },
    /// There are more of something than are read.
    #[error("more than {limit} {what}")]
    TooMany {
        /// What there is too much of, such as `elements`.
        what: String,
        /// The most that is read.
        limit: usize,
    },
    /// A comment, CDATA section or tag runs to the end of the fence.
    #[error("{what} is not closed")]
    UnclosedMarkup {
        /// What is not closed, such as `a comment`.
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
    /// A `<` that starts no tag.
    #[error("`<` starts no tag")]
    BareLessThan,
    /// A `&` that starts no entity.
    #[error("`&` starts no entity")]
    BareAmpersand,
    /// An entity other than the five of XML, or a character reference to no character.
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
    /// Text in a tag that is no `name="value"`.
    #[error("malformed attribute of `<{element}>`")]
    MalformedAttribute {
        /// The element's name.
        element: String,
    },
    /// The same attribute twice in one tag.
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
        /// What it is, such as `a DOCTYPE`.
        what: String,
    },
    /// Text or a second element beside the root element of the fence.
    #[error("content after `</directive>` inside the fence")]
    OutsideRoot,
    /// An element that its parent does not have.
    #[error("unknown element `<{name}>` in `<{parent}>`")]
    UnknownElement {
        /// The parent's name.
        parent: String,
        /// The element's name.
        name: String,
    },
    /// An attribute that its element does not have.
    #[error("unknown attribute `{name}` of `<{element}>`")]
    UnknownAttribute {
        /// The element's name.
        element: String,
        /// The attribute's name.
        name: String,
    },
    /// A limit that does not exist (SPEC D8).
    #[error("unknown limit `{name}`")]
    UnknownLimit {
        /// The attribute's name.
        name: String,
    },
    /// Both spellings of one limit in one element (SPEC D8).
    #[error("`{name}` and `{other}` are the same limit")]
    LimitTwice {
        /// The spelling met second.
        name: String,
        /// The spelling met first.
        other: String,
    },
    /// An attribute that must be there is not.
    #[error("`<{element}>` has no `{name}`")]
    MissingAttribute {
        /// The element's name.
        element: String,
        /// The attribute's name.
        name: String,
    },
    /// A child element that must be there is not.
    #[error("`<{element}>` has no {what}")]
    MissingContent {
        /// The element's name.
        element: String,
        /// What it lacks, such as `action`.
        what: String,
    },
    /// A second one of what may occur once.
    #[error("{what} is declared twice")]
    Duplicate {
        /// What occurs twice, such as "`<permissions>`" or "input `a`".
        what: String,
    },
    /// Text where only elements belong.
    #[error("text in `<{element}>`")]
    UnexpectedText {
        /// The element's name.
        element: String,
    },
    /// Nothing where something must be.
    #[error("{what} is empty")]
    Empty {
        /// What is empty, such as "`<tool>`".
        what: String,
    },
    /// A value that is not of the form it must have.
    #[error("{what} is `{value}`, not {expected}")]
    BadValue {
        /// Whose value it is, such as "`turns`".
        what: String,
        /// The value as written, shortened.
        value: String,
        /// The form, such as `a whole number`.
        expected: String,
    },
    /// A word that is not one of a closed list.
    #[error("unknown {what} `{value}`")]
    UnknownValue {
        /// Of what list, such as `type` or `event`.
        what: String,
        /// The word as written, shortened.
        value: String,
    },
    /// A condition's expression that is not `path op literal`, joined by `and` and `or`.
    #[error("the condition cannot be read: {why}")]
    UnreadableCondition {
        /// What is missing or too much.
        why: String,
    },
    /// A value for an operator that compares with none.
    #[error("`{operator}` takes no value")]
    UnusedValue {
        /// The operator.
        operator: String,
    },
    /// A hook on `resolve_extends` in a directive, which is read after that event (SPEC 7.3).
    #[error("a directive cannot have a hook on `resolve_extends`")]
    MisplacedEvent,
    /// A key of a hook that its event has no use for.
    #[error("`{key}` has no meaning for event `{event}`")]
    UselessKey {
        /// The key.
        key: String,
        /// The hook's event.
        event: String,
    },
    /// `*` beside other permissions in one element.
    #[error("`*` in `<{element}>` stands beside other permissions")]
    WildcardBeside {
        /// The element's name.
        element: String,
    },
    /// `<output>` elements beside elements of the dict form.
    #[error("`<outputs>` mixes `<output>` and `<{name}>`")]
    MixedOutputs {
        /// The first element of the form met second.
        name: String,
    },
    /// Note: a metadata element that nothing reads.
    #[error("unknown metadata `<{name}>`")]
    UnknownMetadata {
        /// The element's name.
        name: String,
    },
    /// Note: text in an element that speaks by its attributes alone.
    #[error("text in `<{element}>` is not used")]
    UnusedText {
        /// The element's name.
        element: String,
    },
    /// Note: the old `<cap>` form of a permission.
    #[error("`<cap>` is the old form of a permission")]
    OldCapability,
    /// Note: a part of the body inside the fence (SPEC D9).
    #[error("`<{element}>` stands inside the fence")]
    BodyInFence {
        /// `process` or `success_criteria`.
        element: String,
    },
    /// Note: an element of the process steps cannot be read.
    #[error("{what} cannot be read as a step")]
    UnreadableStep {
        /// What it is, such as "`<step>`" or "`rye_execute(…)`".
        what: String,
    },
    /// Note: metadata of a knowledge entry in an older form than a fence.
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
        /// What its parser says, without a place.
        message: String,
    },
    /// The same key twice in one mapping.
    #[error("key `{key}` is given twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A feature of a data format that is not supported.
    #[error("{what} is not supported")]
    Unsupported {
        /// What it is, such as `a YAML tag`.
        what: String,
    },
    /// A key that nothing reads.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A key that must be there is not.
    #[error("no `{key}` is given")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A value of another type than its key has.
    #[error("{what} is {found}, not {expected}")]
    WrongType {
        /// Whose value it is, such as "`tags`" or `the file`.
        what: String,
        /// The type it has, such as `a number`.
        found: String,
        /// The type it must have, such as `text`.
        expected: String,
    },
    /// A key of another executor than the one that is declared.
    #[error("`{key}` does not belong to executor `{executor}`")]
    ForeignKey {
        /// The key.
        key: String,
        /// The declared executor.
        executor: String,
    },
    /// A file extension that is not read here.
    #[error("unknown extension `{extension}`")]
    UnknownExtension {
        /// The extension without its dot.
        extension: String,
    },
    /// A script without the comment block that makes it a tool (SPEC 5.2).
    #[error("no `/// rye` header found")]
    NoToolHeader,
    /// A script that begins with `#!` and another language than its extension's.
    #[error("the `#!` line names `{interpreter}`, which is not what runs `.{extension}`")]
    OtherInterpreter {
        /// The program that the line names.
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
    /// A script header that is never closed or holds a line that is no comment.
    #[error("the `/// rye` header is not closed")]
    UnclosedHeader,
}

impl ProblemKind {
    /// A short stable name for programs, such as `unknown-limit`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoDirective => "no-directive",
            Self::UnclosedFence { .. } => "unclosed-fence",
            Self::TooLarge { .. } => "too-large",
            Self::TooDeep { .. } => "too-deep",
            Self::TooMany { .. } => "too-many",
            Self::UnclosedMarkup { .. } => "unclosed-markup",
            Self::UnclosedElement { .. } => "unclosed-element",
            Self::UnexpectedClose { .. } => "unexpected-close",
            Self::BareLessThan => "bare-less-than",
            Self::BareAmpersand => "bare-ampersand",
            Self::UnknownEntity { .. } => "unknown-entity",
            Self::ForbiddenCharacter { .. } => "forbidden-character",
            Self::MalformedAttribute { .. } => "malformed-attribute",
            Self::DuplicateAttribute { .. } => "duplicate-attribute",
            Self::ForbiddenMarkup { .. } => "forbidden-markup",
            Self::OutsideRoot => "outside-root",
            Self::UnknownElement { .. } => "unknown-element",
            Self::UnknownAttribute { .. } => "unknown-attribute",
            Self::UnknownLimit { .. } => "unknown-limit",
            Self::LimitTwice { .. } => "limit-twice",
            Self::MissingAttribute { .. } => "missing-attribute",
            Self::MissingContent { .. } => "missing-content",
            Self::Duplicate { .. } => "duplicate",
            Self::UnexpectedText { .. } => "unexpected-text",
            Self::Empty { .. } => "empty",
            Self::BadValue { .. } => "bad-value",
            Self::UnknownValue { .. } => "unknown-value",
            Self::UnreadableCondition { .. } => "unreadable-condition",
            Self::UnusedValue { .. } => "unused-value",
            Self::MisplacedEvent => "misplaced-event",
            Self::UselessKey { .. } => "useless-key",
            Self::WildcardBeside { .. } => "wildcard-beside",
            Self::MixedOutputs { .. } => "mixed-outputs",
            Self::UnknownMetadata { .. } => "unknown-metadata",
            Self::UnusedText { .. } => "unused-text",
            Self::OldCapability => "old-capability",
            Self::BodyInFence { .. } => "body-in-fence",
            Self::UnreadableStep { .. } => "unreadable-step",
            Self::OldMetadata { .. } => "old-metadata",
            Self::Syntax { .. } => "syntax",
            Self::DuplicateKey { .. } => "duplicate-key",
            Self::Unsupported { .. } => "unsupported",
            Self::UnknownKey { .. } => "unknown-key",
            Self::MissingKey { .. } => "missing-key",
            Self::WrongType { .. } => "wrong-type",
            Self::ForeignKey { .. } => "foreign-key",
            Self::UnknownExtension { .. } => "unknown-extension",
            Self::NoToolHeader => "no-tool-header",
            Self::OtherInterpreter { .. } => "other-interpreter",
            Self::OtherLanguage { .. } => "other-language",
            Self::NoLanguage { .. } => "no-language",
            Self::UnclosedHeader => "unclosed-header",
        }
    }
}
