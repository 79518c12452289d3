//! The operator's keys and trust documents.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rye::resolve::{Space, trust_entries, trust_store};
use rye::sandbox::temporary_file;
use rye::sign::{CommentStyle, PublicKey, SigningKey, TrustDocument, TrustStore, TrustedKey, sign};
use zeroize::Zeroizing;

use crate::environment::{Environment, read_named, read_text};
use crate::failure::Failure;
use crate::files::refuse_links;
use crate::output;

/// The folders of keys in the user space (SPEC 2.6, 2.7).
#[derive(Debug)]
pub(crate) struct KeyStore {
    signing: PathBuf,
    trusted: PathBuf,
}

impl KeyStore {
    pub(crate) fn of(environment: &Environment) -> Result<Self, Failure> {
        let keys = environment.user()?.join(".ai").join("config").join("keys");
        Ok(Self { signing: keys.join("signing"), trusted: keys.join("trusted") })
    }

    pub(crate) fn private(&self) -> PathBuf {
        self.signing.join("private_key.pem")
    }

    pub(crate) fn public(&self) -> PathBuf {
        self.signing.join("public_key.pem")
    }

    /// Returns the path of an existing document in the user space for the same key, under any name.
    pub(crate) fn existing(
        &self,
        document: &TrustDocument,
        environment: &Environment,
    ) -> Result<Option<PathBuf>, Failure> {
        let reading = trust_entries(&environment.spaces(), &[], Environment::now())?;
        let of_key =
            reading.documents.into_iter().filter(|entry| entry.is_for(document.key().key_id()));
        let of_user = of_key.filter_map(|entry| entry.location).find(|at| at.space == Space::User);
        let path = self.document(document);
        Ok(of_user.map(|at| at.path).or_else(|| path.exists().then_some(path)))
    }

    /// Returns the path for a document.
    pub(crate) fn document(&self, document: &TrustDocument) -> PathBuf {
        self.trusted.join(format!("{}.toml", document.key().key_id()))
    }
}

/// Returns the operator's signing key, or a failure with advice.
pub(crate) fn signing_key(environment: &Environment) -> Result<SigningKey, Failure> {
    let path = KeyStore::of(environment)?.private();
    if !is_there(&path)? {
        let path = path.display();
        return Err(Failure::usage(format!(
            "no signing key at `{path}`; make one with `rye keys generate`, or give `--key FILE`"
        )));
    }
    parse_signing_key(read_text(&path)?, &path)
}

/// Returns the operator's signing key, if there is one.
pub(crate) fn signing_key_if_any(environment: &Environment) -> Result<Option<SigningKey>, Failure> {
    let Ok(store) = KeyStore::of(environment) else { return Ok(None) };
    let path = store.private();
    if !is_there(&path)? {
        return Ok(None);
    }
    parse_signing_key(read_text(&path)?, &path).map(Some)
}

/// Returns `true` if the file exists. An unreadable key is an error and not a missing key, because otherwise
/// a second one would be made.
fn is_there(path: &Path) -> Result<bool, Failure> {
    match path.try_exists() {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        is_there => is_there.map_err(|source| Failure::io("look for", path, &source)),
    }
}

/// Returns the key in a file or pipe that the operator named. The operator's own key is a plain file, so that no command waits for it.
pub(crate) fn read_signing_key(path: &Path) -> Result<SigningKey, Failure> {
    parse_signing_key(read_named(path)?, path)
}

fn parse_signing_key(pem: String, path: &Path) -> Result<SigningKey, Failure> {
    let pem = Zeroizing::new(pem);
    SigningKey::from_pkcs8_pem(&pem)
        .map_err(|error| Failure::failed(format!("`{}`: {error}", path.display())))
}

/// Warns if signatures of the key are refused because the trust in it has ended. An unreadable trust document
/// is not reported here, because verification reports it.
pub(crate) fn warn_of_end(key: &PublicKey, environment: &Environment) {
    let Ok((trust, _)) = trust_store(&environment.spaces(), &[], Environment::now()) else {
        return;
    };
    let Some(how) = trust.find(key.key_id()).and_then(end_of_trust) else { return };
    let key_id = key.key_id();
    output::warnings(&[format!(
        "the key `{key_id}` {how}, so that what it signs is refused; sign with another one"
    )]);
}

/// Returns a sentence for each trusted key whose trust ends within two weeks, for commands that look ahead.
pub(crate) fn ending_soon(environment: &Environment) -> Vec<String> {
    let Ok((trust, _)) = trust_store(&environment.spaces(), &[], Environment::now()) else {
        return Vec::new();
    };
    let now = Environment::now().as_unix();
    let ends = trust.key_ids().into_iter().filter_map(|id| {
        let key = trust.find(&id)?;
        let at = key.expires().filter(|_| key.revoked().is_none())?;
        let left = at.as_unix().checked_sub(now).filter(|left| (1..=SOON).contains(left))?;
        let days = output::counted(usize::try_from(left.div_euclid(DAY)).unwrap_or_default() + 1, "day");
        Some(format!("the trust in the key `{id}` expires at {at}, in less than {days}; what it signed is refused then"))
    });
    ends.collect()
}

const DAY: i64 = 24 * 60 * 60;

/// The time before an end of trust in which it is told, in seconds.
const SOON: i64 = 14 * DAY;

pub(crate) fn end_of_trust(key: &TrustedKey) -> Option<String> {
    match (key.revocation(), key.expires()) {
        (Some(revocation), _) => Some(format!("was {revocation}")),
        (None, Some(at)) if at <= Environment::now() => Some(format!("expired at {at}")),
        _ => None,
    }
}

/// Returns the text of a trust document, signed with the operator's key. If that key has ended, the text is
/// unsigned, because its signature would make the document invalid.
pub(crate) fn vouched_text(
    document: &TrustDocument,
    trust: &TrustStore,
    environment: &Environment,
) -> Result<String, Failure> {
    let Some(key) = signing_key_if_any(environment)? else { return Ok(document.to_toml()) };
    let has_ended = trust.find(key.public().key_id()).and_then(end_of_trust).is_some();
    // A document for the operator's own key is signed in any case, because the signature shows that its owner
    // wrote it.
    let is_own = document.key() == &key.public();
    Ok(if has_ended && !is_own { document.to_toml() } else { signed_text(document, &key) })
}

pub(crate) fn signed_text(document: &TrustDocument, key: &SigningKey) -> String {
    let text = document.to_toml();
    let name = document.item_name();
    sign(&text, CommentStyle::Hash, &name, key, Environment::now())
}

/// Writes a new file atomically, in a folder that only its owner can open.
pub(crate) fn create(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    refuse_links(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder).map_err(|source| Failure::io("make", folder, &source))?;
    create_beside(path, text, mode)
}

/// Writes a new file like [`create`], in an existing folder.
#[expect(clippy::disallowed_methods, reason = "commands write outside of a runtime")]
pub(crate) fn create_beside(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let written = || {
        let mut temporary = temporary_file(path.parent().unwrap_or(Path::new(".")), 0o600)?;
        set_mode(temporary.as_file(), mode)?;
        temporary.write_all(text.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist_noclobber(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        _ => Failure::io("write", path, &source),
    })
}

pub(crate) fn exists(path: &Path) -> Failure {
    let path = path.display();
    Failure::failed(format!("`{path}` exists and is not replaced; move it away first"))
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}
