//! `rye keys import`.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use rye::sign::SigningKey;
use zeroize::Zeroizing;

use super::{check_vacant, settle, tell, trust};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{KeyStore, read_signing_key, warn_of_end};

/// Take over a signing key into the user space, and trust it there
#[derive(Debug, Args)]
#[command(
    after_help = "The key is PKCS#8 PEM, as `rye keys export --private` and `openssl genpkey -algorithm ed25519` write \
                  it. It is never an argument, which other users of the machine could see. An existing key is never \
                  replaced; to import the same one again changes nothing. In a variable, line ends may be spaces or \
                  written out as `\\n`.\n\n\
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
    if is_same(&key, store) {
        // A key whose document was lost is trusted again.
        let trusted = trust(&key, &arguments.owner, store, environment)?;
        let private = store.private();
        let made = trusted.as_deref().map(|document| (private.as_path(), document));
        tell(&key.public(), made, environment);
        return Ok(Exit::Fine);
    }
    check_vacant(store)?;
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
    read(&with_lines(&pem), &format!("the environment variable `{name}`"))
}

/// Returns `true` if the key is there already, so that a build that is repeated imports nothing.
fn is_same(key: &SigningKey, store: &KeyStore) -> bool {
    let present = store.private().exists().then(|| read_signing_key(&store.private()).ok());
    present.flatten().is_some_and(|present| present.public() == key.public())
}

/// Returns the text of a key with its lines. Build machines give variables whose line ends are spaces or are written out as `\n`.
fn with_lines(pem: &str) -> Zeroizing<String> {
    // No text is made longer in its place, which would leave a copy behind: a line end stands behind each word at most.
    let mut text = Zeroizing::new(String::with_capacity(2 * pem.len() + 2));
    let plain = Zeroizing::new(pem.trim().replace("\\r", ""));
    let plain = Zeroizing::new(plain.replace("\\n", "\n"));
    let Some((begin, rest)) = plain.split_once(BEGIN) else {
        text.push_str(&plain);
        return text;
    };
    let Some((body, end)) = rest.split_once(END) else {
        text.push_str(&plain);
        return text;
    };
    text.push_str(begin);
    text.push_str(BEGIN);
    for line in body.split_whitespace() {
        text.push('\n');
        text.push_str(line);
    }
    text.push('\n');
    text.push_str(END);
    text.push_str(end.trim_end());
    text.push('\n');
    text
}

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

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
