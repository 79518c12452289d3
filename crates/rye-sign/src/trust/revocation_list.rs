//! Lists of revoked keys, which a project or a system root carries.

use toml::{Table, Value};

use rye_types::Timestamp;

use crate::error::Error;
use crate::item_name::ItemName;
use crate::key_id::KeyId;
use crate::trust::error::{TomlError, TrustProblem, problem_list};
use crate::trust::reader::{Form, NoTable, Reader, read_table};

/// The statements of a revocation list `.ai/config/keys/revoked.toml`. They are not verified.
///
/// A list is signed on line 1, as a trust document is. It takes trust away from keys, and gives none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevocationList {
    entries: Vec<RevokedKey>,
}

/// An entry of a [`RevocationList`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevokedKey {
    /// The id of the key, in either notation.
    pub key_id: KeyId,
    /// The stated time of the revocation. What the key signed before it is refused, too.
    pub at: Timestamp,
    /// The reason, for people; often empty.
    pub reason: String,
}

impl RevokedKey {
    /// Makes an entry.
    pub fn new(key_id: KeyId, at: Timestamp, reason: &str) -> Self {
        Self { key_id, at, reason: reason.to_owned() }
    }

    /// Writes the entry as TOML, to be appended to the text of a list.
    pub fn to_toml(&self) -> String {
        let Self { key_id, at, reason } = self;
        let text = format!("\n[[revoked]]\nkey_id = \"{key_id}\"\nat = {at}\n");
        match reason.as_str() {
            "" => text,
            reason => format!("{text}reason = {}\n", Value::from(reason)),
        }
    }
}

/// A reason why a revocation list does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevocationError {
    /// Fields are missing, unknown or wrong.
    #[error("the list revokes no key, because it has {}", problem_list(.problems))]
    Invalid {
        /// All wrong fields.
        problems: Vec<TrustProblem>,
    },
    /// The file has another name than the list of an `.ai` folder.
    #[error(
        "the file revokes no key, because the one list of an `.ai` folder is `config/keys/revoked.toml`; move its entries there"
    )]
    Misplaced,
    /// The list is not TOML.
    #[error("the list revokes no key, because it is not TOML")]
    NotToml {
        /// The line and the fault.
        source: TomlError,
    },
    /// The list comes from a project, and no trusted key of the operator signed it.
    #[error(
        "the list is {}, and revokes no key; in a project, a list counts only when a key that your user space or a system root trusts signed it; review it, and sign it with `rye sign` and its path",
        signer_text(.signer)
    )]
    NotVouched {
        /// The key that signed the list, if any.
        signer: Option<KeyId>,
    },
    /// The list is longer than is read.
    #[error(
        "the list revokes no key, because it has {bytes} bytes, and at most {MAX_BYTES} are read"
    )]
    TooLong {
        /// The length of the list.
        bytes: usize,
    },
    /// The signature of the list fails verification.
    #[error("the list fails verification, and revokes no key")]
    Unverified {
        /// The failure.
        source: Error,
    },
}

/// The most bytes of a revocation list, which is room for many thousand keys.
const MAX_BYTES: usize = 1024 * 1024;

fn signer_text(signer: &Option<KeyId>) -> String {
    match signer {
        None => "unsigned".to_owned(),
        Some(signer) => format!("signed by the key `{signer}`"),
    }
}

impl RevocationList {
    /// Parses the TOML text with its signature line. The text may have at most 1 MiB.
    ///
    /// # Errors
    ///
    /// The text is too long or not TOML, or fields are missing, unknown or wrong. All wrong fields are reported.
    pub fn parse(text: &str) -> Result<Self, RevocationError> {
        let mut reader = Reader::new(read_table(text, MAX_BYTES)?, &FORM);
        reader.check_constants();
        let rows = match reader.take(ENTRIES) {
            None => reader.refuse(TrustProblem::Missing { field: ENTRIES }),
            Some(Value::Array(rows)) => Some(rows),
            Some(_) => reader.refuse(NO_ROWS),
        };
        let rows = rows.unwrap_or_default();
        let entries = rows.into_iter().filter_map(|row| match row {
            Value::Table(row) => entry(row, &mut reader.problems),
            _ => reader.refuse(NO_ROWS),
        });
        let entries = entries.collect();
        reader.refuse_the_rest();
        match reader.problems {
            problems if problems.is_empty() => Ok(Self { entries }),
            problems => Err(RevocationError::Invalid { problems }),
        }
    }

    /// Adds an entry.
    #[must_use]
    pub fn with(mut self, entry: RevokedKey) -> Self {
        self.entries.push(entry);
        self
    }

    /// The entries, in the order of the text.
    pub fn entries(&self) -> &[RevokedKey] {
        &self.entries
    }

    /// Writes the TOML text, unsigned.
    pub fn to_toml(&self) -> String {
        let mut text = format!("version = \"1.0.0\"\ncategory = \"{}\"\n", FORM.category);
        if self.entries.is_empty() {
            text += "revoked = []\n";
        }
        text.extend(self.entries.iter().map(RevokedKey::to_toml));
        text
    }

    /// The name under which every list is signed: kind `trust`, and the id `revoked`, which no key has.
    pub fn item_name() -> ItemName {
        ItemName::new("trust", "revoked").expect("because the id is one line of plain text")
    }
}

/// Reads one entry, and adds its problems to `problems`.
fn entry(row: Table, problems: &mut Vec<TrustProblem>) -> Option<RevokedKey> {
    let mut reader = Reader::new(row, &FORM);
    let key_id = reader.required_text("key_id").and_then(|text| {
        let parsed = text.parse().ok();
        parsed.or_else(|| reader.refuse(TrustProblem::KeyId { text }))
    });
    let at = match reader.has("at") {
        true => reader.time("at"),
        false => reader.refuse(TrustProblem::Missing { field: "at" }),
    };
    let reason = reader.text("reason").unwrap_or_default();
    reader.refuse_the_rest();
    problems.append(&mut reader.problems);
    Some(RevokedKey { key_id: key_id?, at: at?, reason })
}

const FORM: Form = Form {
    category: "keys/revoked",
    fields: "`version`, `category`, and `[[revoked]]` with `key_id`, `at`, `reason`",
};
const ENTRIES: &str = "revoked";
const NO_ROWS: TrustProblem =
    TrustProblem::WrongType { field: ENTRIES, expected: "a list of tables" };

impl From<NoTable> for RevocationError {
    fn from(error: NoTable) -> Self {
        match error {
            NoTable::NotToml { source } => Self::NotToml { source },
            NoTable::TooLong { bytes } => Self::TooLong { bytes },
        }
    }
}
