//! `rye sign PATH…`.

use std::path::{Path, PathBuf};

use clap::Args;
use rye::sign::{CommentStyle, KeyId, SigningKey, Timestamp, TrustDocument, Unverified};
use rye::{place, signed};
use serde_json::{Value, json};

use crate::environment::{Environment, read_text};
use crate::excerpt::{Excerpt, rendered};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{read_signing_key, signing_key, warn_of_end};
use crate::{files, output};

/// Sign items, each after a check
#[derive(Debug, Args)]
#[command(
    after_help = "One bad file does not stop the others; the exit code says that there was one. Each file is replaced whole\n\
                  or not at all, with its mode and its line ends. Links are refused; other names of the same file, by hard\n\
                  links, keep the unsigned text.\n\n\
                        Examples:\n  rye sign .ai/directives/notes/index.md\n  rye sign .ai\n  rye sign '.ai/directives/**/*.md'"
)]
pub(crate) struct Arguments {
    /// Files, folders or patterns
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The private key in PKCS#8 PEM; default: the key of the user space
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The time to sign as, such as `2026-11-20T18:00:00Z`; default: now
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let key = match &arguments.key {
        Some(path) => read_signing_key(path)?,
        None => signing_key(environment)?,
    };
    let at = arguments.at.unwrap_or_else(Environment::now);
    let files = files::named(&arguments.paths, environment)?;
    let named: Vec<PathBuf> =
        arguments.paths.iter().map(|path| environment.absolute(path)).collect();
    let rows: Vec<Row> = files
        .into_iter()
        .map(|path| match refusal(&path, &named) {
            Some(reason) => Row { path, outcome: Err((reason, None)) },
            None => row(path, &key, at),
        })
        .collect();
    if environment.json() {
        output::json(&rows.iter().map(Row::to_json).collect());
    } else {
        rows.iter().for_each(|row| row.print(environment));
        let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
        println!("{} signed, {failed} not signed", rows.len() - failed);
    }
    warn_of_end(&key.public(), environment);
    Ok(if rows.iter().all(|row| row.outcome.is_ok()) { Exit::Fine } else { Exit::Failed })
}

/// Why a file that a folder or a pattern stands for is not signed: who signs a trust document vouches for its key, which
/// nobody does in passing (SPEC 2.8).
fn refusal(path: &Path, named: &[PathBuf]) -> Option<String> {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if !is_toml || named.iter().any(|name| name == path) || place(path).is_some() {
        return None;
    }
    TrustDocument::parse(&read_text(path).ok()?).ok()?;
    Some(
        "a trust document is signed by its own path alone; compare its owner and fingerprint first"
            .to_owned(),
    )
}

struct Row {
    path: PathBuf,
    outcome: Result<Signed, (String, Option<Excerpt>)>,
}

/// What became of a file that was signed.
struct Signed {
    /// The other key whose signature was there before.
    replaced: Option<KeyId>,
}

fn row(path: PathBuf, key: &SigningKey, at: Timestamp) -> Row {
    let outcome = sign(&path, key, at);
    Row { path, outcome }
}

fn sign(path: &Path, key: &SigningKey, at: Timestamp) -> Result<Signed, (String, Option<Excerpt>)> {
    check_own_place(path).map_err(|reason| (reason, None))?;
    let old = read_text(path).map_err(|failure| (failure.to_string(), None))?;
    let new = signed(path, &old, key, at).map_err(|error| {
        let findings = error.findings();
        let excerpt = Excerpt::of_findings(&path.display().to_string(), &old, findings.iter());
        let message = Failure::of(&error, Exit::Failed).to_string();
        (message, (!findings.is_empty()).then_some(excerpt))
    })?;
    files::replace(path, &old, &new).map_err(|failure| (failure.to_string(), None))?;
    let replaced = signer(path, &old).filter(|before| !key.public().is_named(before));
    Ok(Signed { replaced })
}

/// The key that the signature line names, if there is one that can be read.
fn signer(path: &Path, text: &str) -> Option<KeyId> {
    let style = CommentStyle::of_extension(path.extension()?.to_str()?)?;
    Some(Unverified::locate(text, style).ok()?.key_id().clone())
}

/// A signature binds a name. Through a link it would be bound to the link's name and written where another one holds.
fn check_own_place(path: &Path) -> Result<(), String> {
    if path.is_symlink() {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let target = target.display();
        return Err(format!("a link is not signed; sign the file that it leads to, `{target}`"));
    }
    match files::way_out(path) {
        None => Ok(()),
        Some(real) => Err(format!(
            "a link leads out of the `.ai` folder, to `{}`, where nothing is an item; copy the file into the folder",
            real.display()
        )),
    }
}

impl Row {
    fn print(&self, environment: &Environment) {
        let path = self.path.display();
        match &self.outcome {
            Ok(Signed { replaced: None }) => println!("signed   {path}"),
            Ok(Signed { replaced: Some(key) }) => {
                println!("signed   {path}\n         in place of the signature by `{key}`");
            }
            Err((message, excerpt)) => {
                println!("refused  {path}\n         {message}");
                if let Some(excerpt) = excerpt {
                    output::painted(&rendered(excerpt, environment.output_colors()));
                }
            }
        }
    }

    fn to_json(&self) -> Value {
        let replaced = self.outcome.as_ref().ok().and_then(|signed| signed.replaced.as_ref());
        json!({
            "path": output::path(&self.path),
            "status": if self.outcome.is_ok() { "signed" } else { "refused" },
            "replaced": replaced.map(KeyId::to_string),
            "error": self.outcome.as_ref().err().map(|(message, _)| message),
        })
    }
}
