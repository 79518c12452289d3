//! Where an operator's keys and trust documents lie, and how they are written.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rye::sign::{CommentStyle, SigningKey, TrustDocument, TrustStore, sign};
use zeroize::Zeroizing;

use crate::environment::{Environment, read_named};
use crate::failure::Failure;

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

    /// Where the document belongs that vouches for this one's key.
    pub(crate) fn document(&self, document: &TrustDocument) -> PathBuf {
        self.trusted.join(format!("{}.toml", document.key().key_id()))
    }
}

/// The operator's signing key, or a failure that says how to make one.
pub(crate) fn signing_key(environment: &Environment) -> Result<SigningKey, Failure> {
    let path = KeyStore::of(environment)?.private();
    if !path.exists() {
        let path = path.display();
        return Err(Failure::usage(format!(
            "no signing key at `{path}`; make one with `rye keys generate`, or give `--key FILE`"
        )));
    }
    read_signing_key(&path)
}

/// The operator's signing key, when there is one.
pub(crate) fn signing_key_if_any(environment: &Environment) -> Result<Option<SigningKey>, Failure> {
    let Ok(store) = KeyStore::of(environment) else { return Ok(None) };
    let path = store.private();
    if path.exists() { read_signing_key(&path).map(Some) } else { Ok(None) }
}

pub(crate) fn read_signing_key(path: &Path) -> Result<SigningKey, Failure> {
    let pem = Zeroizing::new(read_named(path)?);
    SigningKey::from_pkcs8_pem(&pem)
        .map_err(|error| Failure::failed(format!("`{}`: {error}", path.display())))
}

/// The text of a trust document, signed by the operator's key as far as there is one that still counts: with the
/// signature of a revoked key no document would.
pub(crate) fn vouched_text(
    document: &TrustDocument,
    trust: &TrustStore,
    environment: &Environment,
) -> Result<String, Failure> {
    let Some(key) = signing_key_if_any(environment)? else { return Ok(document.to_toml()) };
    let now = Environment::now();
    let has_ended = trust.find(key.public().key_id()).is_some_and(|trusted| {
        trusted.revoked().is_some() || trusted.expires().is_some_and(|at| at <= now)
    });
    // For its own key a signature counts as long as it is good: it shows that the holder wrote the document.
    let is_own = document.key() == &key.public();
    Ok(if has_ended && !is_own { document.to_toml() } else { signed_text(document, &key) })
}

pub(crate) fn signed_text(document: &TrustDocument, key: &SigningKey) -> String {
    let (text, name) = (document.to_toml(), document.item_name());
    sign(&text, CommentStyle::Hash, &name, key, Environment::now())
}

/// Writes a file that is not there yet, whole or not at all, into a folder that only its owner can open.
pub(crate) fn create(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder).map_err(|source| Failure::io("make", folder, &source))?;
    create_beside(path, text, mode)
}

/// As [`create`], in a folder that is there.
pub(crate) fn create_beside(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let written = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut temporary = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
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
