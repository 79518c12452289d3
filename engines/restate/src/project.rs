//! The worker's project, keys and environment: what a run of `rye` on this machine would use.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rye::files::{read_plain, read_plain_or_pipe};
use rye::providers::ApiKey;
use rye::resolve::Spaces;
use rye::sandbox::{ENVIRONMENT, Launcher, ProcessHost, Variables};
use rye::sign::{Digest, PublicKey, SigningKey};
use rye::thread::ThreadId;
use rye::thread::store::Replica;
use rye::web::SystemNames;
use rye::{Bundle, Rye, Secrets, Setup, SystemClock, shipped_files};
use zeroize::Zeroizing;

use crate::tree_files::TreeFolder;

/// A project on this machine, with its operator.
#[derive(Debug)]
pub struct Project {
    folder: PathBuf,
    user: PathBuf,
    trust: Vec<String>,
    /// The folder of the files of trees, which are a cache of the engine's.
    trees: PathBuf,
    key: Arc<SigningKey>,
}

impl Project {
    /// Reads the operator's key and trust documents. The worker's own files of threads are below `cache`.
    ///
    /// # Errors
    ///
    /// When the folder is no project, or the user space has no signing key.
    pub fn open(
        folder: &Path,
        user: &Path,
        trust: &[PathBuf],
        cache: &Path,
    ) -> anyhow::Result<Self> {
        if !folder.join(".ai").is_dir() {
            anyhow::bail!("`{}` is no project: it has no `.ai` folder", folder.display());
        }
        let path = user.join(".ai/config/keys/signing/private_key.pem");
        // A plain file, so that no start waits for a program that holds a pipe there.
        let pem =
            read_plain(&path, MOST).and_then(text).map(Zeroizing::new).with_context(|| {
                format!("no signing key at `{}`; make one with `rye keys generate`", path.display())
            })?;
        let key = SigningKey::from_pkcs8_pem(&pem).context("the signing key cannot be used")?;
        let read =
            |path: &PathBuf| read_text(path).with_context(|| format!("`{}`", path.display()));
        let trust = trust.iter().map(read).collect::<anyhow::Result<_>>()?;
        let folder = folder.canonicalize()?;
        let user = user.canonicalize()?;
        let digest = Digest::of(folder.as_os_str().as_encoded_bytes()).to_string();
        Ok(Self { folder, user, trust, trees: cache.join(digest), key: Arc::new(key) })
    }

    /// Returns the operator's key, which signs the threads.
    pub fn key(&self) -> Arc<SigningKey> {
        Arc::clone(&self.key)
    }

    /// Returns the key that the operator's requests are verified with.
    pub fn public_key(&self) -> PublicKey {
        self.key.public()
    }

    /// Returns the folder, for messages.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the files that a thread may use here as they are now.
    ///
    /// # Errors
    ///
    /// When one cannot be read, or there are too many.
    pub fn bundle(&self) -> anyhow::Result<Bundle> {
        let bundle = Bundle::of_project(&self.folder)?.with_user_space(&self.user)?;
        Ok(self.trust.iter().fold(bundle, |bundle, text| bundle.with_trust_document(text)))
    }

    /// Returns the folder of a tree's files. It is not in the project, where `rye resume` would find threads that go on here.
    pub fn tree(&self, root: &ThreadId) -> TreeFolder {
        TreeFolder::of(&self.trees, root)
    }

    /// Opens the library over the project as it is now, for one tree. All changes of transcripts go to `replica`, too.
    ///
    /// # Errors
    ///
    /// When the trust policy of the project or the user is refused.
    pub fn rye(&self, tree: &TreeFolder, replica: Arc<dyn Replica>) -> anyhow::Result<Rye> {
        let spaces = Spaces::new().with_shipped(shipped_files());
        let spaces = spaces.with_project(&self.folder).with_user(&self.user);
        let mut setup = Setup::new(spaces, SystemClock::new().timestamp());
        setup.trust_documents.clone_from(&self.trust);
        setup.policy_pins = Some(self.user.join(".ai/state/policy"));
        setup.processes = Some(self.processes());
        setup.names = Some(Arc::new(SystemNames));
        setup.variables = Variables::by(variable);
        Ok(Rye::open(&setup)?.with_threads(&tree.threads()).with_replica(replica))
    }

    /// Returns the host for programs of tools: this program as the launcher, and variables without keys.
    fn processes(&self) -> ProcessHost {
        let mut host = ProcessHost::new(&env::temp_dir());
        host.launcher = Launcher::of_this_program().ok();
        let set = |name: &&str| Some(((*name).to_owned(), env::var(name).ok()?));
        host.environment = ENVIRONMENT.iter().filter_map(set).collect();
        host.variables = Variables::by(variable);
        host.home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let users = read_plain(Path::new("/etc/passwd"), MOST).unwrap_or_default();
        host.other_homes = ProcessHost::homes_in(&String::from_utf8_lossy(&users));
        host.hidden = vec![self.user.join(".ai/config/keys/signing")];
        host.journal = self.user.join(".ai/cache/programs");
        host
    }
}

/// Reads a trust document.
fn read_text(path: &Path) -> io::Result<String> {
    read_plain_or_pipe(path, MOST, WRITER_WITHIN).and_then(text)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))
}

/// The most bytes of a file that are read.
const MOST: u64 = 16 * 1024 * 1024;

/// The time limit for a program to open a pipe for writing.
const WRITER_WITHIN: Duration = Duration::from_secs(1);

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The API keys of providers, from the variables that their configurations name.
#[derive(Debug)]
pub struct Environment;

impl Secrets for Environment {
    fn api_key(&self, name: &str) -> Option<ApiKey> {
        variable(name)?.parse().ok()
    }
}
