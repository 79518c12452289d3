//! Parsing of trust documents, which reports every wrong field.

use toml::{Table, Value};

use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::timestamp::Timestamp;
use crate::trust::document::TrustDocument;
use crate::trust::error::{MAX_BYTES, TomlError, TrustError, TrustProblem};

impl TrustDocument {
    /// Parses the TOML text with its signature line. The text may have at most 64 KiB.
    ///
    /// # Errors
    ///
    /// The text is too long or not TOML, the fingerprint does not match the key, or fields are missing, unknown or
    /// wrong. All wrong fields are reported.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        if text.len() > MAX_BYTES {
            return Err(TrustError::TooLong { bytes: text.len() });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table: Table = text.parse().map_err(|error| not_toml(text, &error))?;
        let mut reader = Reader { table, problems: Vec::new() };
        reader.check_constants();
        let owner = reader.required_text("owner");
        let attestation = reader.text("attestation");
        let fingerprint = reader.fingerprint();
        let grants = reader.grants();
        let expires = reader.time("expires");
        let revoked = reader.time("revoked");
        let key = reader.key();
        reader.refuse_the_rest();
        match (owner, fingerprint, key) {
            (Some(owner), Some(fingerprint), Some(key)) if reader.problems.is_empty() => {
                if !key.is_named(&fingerprint) {
                    let key_id = key.key_id().clone();
                    return Err(TrustError::Disagree {
                        part: "`fingerprint`",
                        stated: fingerprint.to_string(),
                        key_id,
                    });
                }
                let attestation = attestation.unwrap_or_default();
                Ok(Self { key, owner, attestation, grants, expires, revoked })
            }
            _ => Err(TrustError::Invalid { problems: reader.problems }),
        }
    }
}

fn not_toml(text: &str, error: &toml::de::Error) -> TrustError {
    let start = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
    TrustError::NotToml { source: TomlError { line, message: error.message().to_owned() } }
}

/// Removes known fields from the table, so that unknown fields remain.
struct Reader {
    table: Table,
    problems: Vec<TrustProblem>,
}

impl Reader {
    fn check_constants(&mut self) {
        if let Some(version) = self.text("version")
            && version.split('.').next() != Some("1")
        {
            self.problems.push(TrustProblem::Version { text: version });
        }
        if let Some(category) = self.text("category")
            && category != CATEGORY
        {
            self.problems.push(TrustProblem::Category { text: category });
        }
    }

    fn text(&mut self, field: &'static str) -> Option<String> {
        match self.table.remove(field)? {
            Value::String(text) => Some(text),
            _ => self.refuse(TrustProblem::WrongType { field, expected: "a string" }),
        }
    }

    fn required_text(&mut self, field: &'static str) -> Option<String> {
        if !self.table.contains_key(field) {
            return self.refuse(TrustProblem::Missing { field });
        }
        match self.text(field)? {
            text if text.trim().is_empty() => self.refuse(TrustProblem::Empty { field }),
            text => Some(text),
        }
    }

    fn fingerprint(&mut self) -> Option<KeyId> {
        let text = self.required_text("fingerprint")?;
        let parsed = text.parse().ok();
        parsed.or_else(|| self.refuse(TrustProblem::Fingerprint { text }))
    }

    fn grants(&mut self) -> Option<Vec<String>> {
        let wrong = TrustProblem::WrongType { field: "grants", expected: "a list of strings" };
        let Value::Array(items) = self.table.remove("grants")? else { return self.refuse(wrong) };
        let texts: Option<Vec<String>> =
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        texts.or_else(|| self.refuse(wrong))
    }

    fn time(&mut self, field: &'static str) -> Option<Timestamp> {
        let text = match self.table.remove(field)? {
            Value::Datetime(time) => time.to_string(),
            Value::String(text) => text,
            _ => return self.refuse(TrustProblem::WrongType { field, expected: "a UTC time" }),
        };
        let parsed = text.parse().ok();
        parsed.or_else(|| self.refuse(TrustProblem::Time { field, text }))
    }

    fn key(&mut self) -> Option<PublicKey> {
        let Some(value) = self.table.remove("public_key") else {
            return self.refuse(TrustProblem::Missing { field: PEM });
        };
        let Value::Table(mut table) = value else {
            return self
                .refuse(TrustProblem::WrongType { field: "public_key", expected: "a table" });
        };
        let pem = table.remove("pem");
        for (field, _) in table {
            self.problems.push(TrustProblem::Unknown { field: format!("public_key.{field}") });
        }
        match pem {
            None => self.refuse(TrustProblem::Missing { field: PEM }),
            Some(Value::String(pem)) => match PublicKey::from_pem(&pem) {
                Ok(key) => Some(key),
                Err(error) => self.refuse(TrustProblem::Key { error }),
            },
            Some(_) => self.refuse(TrustProblem::WrongType { field: PEM, expected: "a string" }),
        }
    }

    /// Reports the remaining fields. An unknown field may be a misspelled limit, and ignoring a limit would widen the
    /// grants.
    fn refuse_the_rest(&mut self) {
        for (field, _) in std::mem::take(&mut self.table) {
            self.problems.push(TrustProblem::Unknown { field });
        }
    }

    fn refuse<T>(&mut self, problem: TrustProblem) -> Option<T> {
        self.problems.push(problem);
        None
    }
}

const CATEGORY: &str = "keys/trusted";
const PEM: &str = "public_key.pem";
