//! Parsing of trust documents, which reports every wrong field.

use toml::Value;

use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::trust::document::TrustDocument;
use crate::trust::error::{MAX_BYTES, TrustError, TrustProblem};
use crate::trust::reader::{Form, NoTable, Reader, read_table};

impl TrustDocument {
    /// Parses the TOML text with its signature line. The text may have at most 64 KiB.
    ///
    /// # Errors
    ///
    /// The text is too long or not TOML, the fingerprint does not match the key, or fields are missing, unknown or
    /// wrong. All wrong fields are reported.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let mut reader = Reader::new(read_table(text, MAX_BYTES)?, &FORM);
        reader.check_constants();
        let owner = reader.required_text("owner");
        let attestation = reader.text("attestation");
        let fingerprint = fingerprint(&mut reader);
        let grants = grants(&mut reader);
        let expires = reader.time("expires");
        let revoked = reader.time("revoked");
        let key = key(&mut reader);
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

fn fingerprint(reader: &mut Reader) -> Option<KeyId> {
    let text = reader.required_text("fingerprint")?;
    let parsed = text.parse().ok();
    parsed.or_else(|| reader.refuse(TrustProblem::Fingerprint { text }))
}

fn grants(reader: &mut Reader) -> Option<Vec<String>> {
    let wrong = TrustProblem::WrongType { field: "grants", expected: "a list of strings" };
    let Value::Array(items) = reader.take("grants")? else { return reader.refuse(wrong) };
    let texts: Option<Vec<String>> =
        items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    texts.or_else(|| reader.refuse(wrong))
}

fn key(reader: &mut Reader) -> Option<PublicKey> {
    let Some(value) = reader.take("public_key") else {
        return reader.refuse(TrustProblem::Missing { field: PEM });
    };
    let Value::Table(mut table) = value else {
        return reader.refuse(TrustProblem::WrongType { field: "public_key", expected: "a table" });
    };
    let pem = table.remove("pem");
    table.iter().for_each(|(field, _)| reader.refuse_unknown(format!("public_key.{field}")));
    match pem {
        None => reader.refuse(TrustProblem::Missing { field: PEM }),
        Some(Value::String(pem)) => match PublicKey::from_pem(&pem) {
            Ok(key) => Some(key),
            Err(error) => reader.refuse(TrustProblem::Key { error }),
        },
        Some(_) => reader.refuse(TrustProblem::WrongType { field: PEM, expected: "a string" }),
    }
}

const FORM: Form = Form {
    category: "keys/trusted",
    fields: "`version`, `category`, `fingerprint`, `owner`, `attestation`, `grants`, `expires`, `revoked`, `public_key.pem`",
};
const PEM: &str = "public_key.pem";

impl From<NoTable> for TrustError {
    fn from(error: NoTable) -> Self {
        match error {
            NoTable::NotToml { source } => Self::NotToml { source },
            NoTable::TooLong { bytes } => Self::TooLong { bytes },
        }
    }
}
