//! `rye keys import`.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use rye::sign::SigningKey;
use zeroize::Zeroizing;

use super::{check_vacant, settle, tell};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{KeyStore, read_signing_key, warn_of_end};

/// Take over a signing key into the user space, and trust it there
#[derive(Debug, Args)]
#[command(
    after_help = "The key is PKCS#8 PEM, as `rye keys export --private` and `openssl genpkey -algorithm ed25519` write \
                  it. It is never an argument, which other users of the machine could see. An existing key is never \
                  replaced.\n\n\
                  Examples:\n  rye keys import key.pem --owner ada@example.org\n  rye keys import --from-env RYE_SIGNING_KEY\n  \
                  gpg --decrypt key.pem.gpg | rye keys import -"
)]
pub(crate) struct Arguments {
    /// The file that holds the private key, or `-` for standard input
    #[arg(conflicts_with = "from_env")]
    file: Option<PathBuf>,
    /// The environment variable that holds the private key, as on a build machine
    #[arg(long, value_name = "NAME")]
    from_env: Option<String>,
    /// The owner that the trust document names
    #[arg(long, default_value = "me")]
    owner: String,
}

pub(super) fn run(
    arguments: &Arguments,
    store: &KeyStore,
    environment: &Environment,
) -> Result<Exit, Failure> {
    check_vacant(store)?;
    let key = match (&arguments.file, &arguments.from_env) {
        (_, Some(name)) => from_variable(name)?,
        (Some(path), _) if path == Path::new("-") => from_standard_input()?,
        (Some(path), _) => read_signing_key(path)?,
        (None, None) => {
            return Err(Failure::usage(
                "nothing to import; give a file, `-` for standard input, or `--from-env NAME`",
            ));
        }
    };
    let trusted = settle(&key, &arguments.owner, store, environment)?;
    tell(&key.public(), Some((&store.private(), &trusted)), environment);
    warn_of_end(&key.public(), environment);
    Ok(Exit::Fine)
}

fn from_variable(name: &str) -> Result<SigningKey, Failure> {
    let Some(pem) = Environment::variable(name).map(Zeroizing::new) else {
        return Err(Failure::usage(format!(
            "the environment variable `{name}` is not set, or is empty"
        )));
    };
    read(&pem, &format!("the environment variable `{name}`"))
}

fn from_standard_input() -> Result<SigningKey, Failure> {
    // The buffer is large enough for every such key, so that no copy of a part stays in memory when it grows.
    let mut pem = Zeroizing::new(String::with_capacity(LONGEST));
    let read_in = io::stdin().lock().take(LONGEST as u64).read_to_string(&mut pem);
    read_in.map_err(|source| Failure::failed(format!("cannot read standard input: {source}")))?;
    read(&pem, "standard input")
}

fn read(pem: &str, place: &str) -> Result<SigningKey, Failure> {
    SigningKey::from_pkcs8_pem(pem).map_err(|error| Failure::failed(format!("{place}: {error}")))
}

/// The size of the largest input, which is many times that of a key, in bytes.
const LONGEST: usize = 16 * 1024;
