//! `rye sign PATH…`.

use std::path::{Path, PathBuf};

use clap::Args;
use rye::resolve::{ItemId, ItemKind, ResolveError, Space};
use rye::sign::{Provenance, RevocationList, Timestamp, TrustDocument};
use rye::{Rye, SignFileError, SignedFile, SigningStatus, directive_additions, place};
use serde_json::{Value, json};

use crate::directive::resolve_directive;
use crate::environment::{Environment, read_text};
use crate::excerpt::{Excerpt, rendered};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::key_store::{read_signing_key, signing_key, warn_of_end};
use crate::output::{self, Answer};

/// Sign items, each after a check
#[derive(Debug, Args)]
#[command(
    after_help = "What `rye check` calls an error is refused, and so is a name, category or version that contradicts the file's \
                  place.\n\n\
                  A file that is signed already as it would be now is left alone, so that threads that rest on it can go on.\n\n\
                  One bad file does not stop the others; the exit code says that there was one. Each file is replaced whole \
                  or not at all, with its mode and its line ends. Links are refused; other names of the same file, by hard \
                  links, keep the unsigned text.\n\n\
                        Examples:\n  rye sign notes/index\n  rye sign .ai\n  rye sign '.ai/directives/**/*.md'\n  rye sign .ai --dry-run"
)]
pub(crate) struct Arguments {
    /// Files, folders, patterns or ids of items
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The private key in PKCS#8 PEM; default: the key of the user space
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The time to sign as, such as `2026-11-20T18:00:00Z`; default: now
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Sign files anew, too, whose signature by the same key is valid and covers them
    #[arg(long)]
    re_sign: bool,
    /// Say what would be signed, left alone and refused, with the same exit code, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let key = match &arguments.key {
        Some(path) => read_signing_key(path)?,
        None => signing_key(environment)?,
    };
    let at = arguments.at.unwrap_or_else(Environment::now);
    let spaces = environment.to_check(false, false)?;
    let checker = spaces.checker();
    let sign = |path: &Path| match (arguments.dry_run, arguments.re_sign) {
        (true, is_anew) => checker.preview_signature(path, &key, at, is_anew),
        (false, true) => checker.sign_file_anew(path, &key, at),
        (false, false) => checker.sign_file(path, &key, at),
    };
    let files = files::named(&arguments.paths, environment)?;
    let named: Vec<PathBuf> =
        arguments.paths.iter().map(|path| environment.absolute(path)).collect();
    let rows: Vec<Row> = files
        .into_iter()
        .map(|path| match refusal(&path, &named) {
            Some(reason) => Row { path, outcome: Err(Refusal::new(reason)) },
            None => {
                let outcome = sign(&path).map_err(|error| Refusal::of(&error));
                Row { path, outcome }
            }
        })
        .collect();
    if environment.json() {
        answer(&rows, arguments.dry_run).print();
    } else {
        rows.iter().for_each(|row| row.print(arguments.dry_run, environment));
        let written = if arguments.dry_run { "; nothing is written" } else { "" };
        println!("{}{written}", totals(&rows));
    }
    warn_of_end(&key.public(), environment);
    Ok(if rows.iter().all(|row| row.outcome.is_ok()) { Exit::Fine } else { Exit::Failed })
}

/// Signs the directive of a run with the operator's key, after it shows what the signature permits. Items of
/// the program need no signature.
pub(super) fn sign_for_run(argument: &str, environment: &Environment) -> Result<(), Failure> {
    let rye = environment.rye()?;
    let id = resolve_directive(argument, &rye, environment)?;
    let winner = rye.library().locate(ItemKind::Directive, &id)?.winner;
    match winner.space {
        Space::Project | Space::User => {}
        Space::Builtin => return Ok(()),
        Space::System => {
            let kind = ItemKind::Directive;
            return Err(SignFileError::ReadOnly { kind, id, space: winner.space }.into());
        }
    }
    let key = signing_key(environment)?;
    let at = Environment::now();
    let path = winner.path;
    let checker = rye.checker();
    let file = checker.preview_signature(&path, &key, at, false)?;
    if file.status == SigningStatus::Unchanged {
        return Ok(());
    }
    if let Some(state) = replaced_signature(&rye, &id) {
        eprintln!("{}: {state}", path.display());
    }
    eprintln!("signing {}, which adds:", path.display());
    let text = read_text(&path)?;
    let directive = rye::parse::directive(&text);
    let added = directive.map(|directive| directive_additions(&directive)).unwrap_or_default();
    eprint!("{}", output::visible(&added_lines(&added)));
    checker.sign_text(&path, &text, &key, at)?;
    warn_of_end(&key.public(), environment);
    Ok(())
}

/// Returns a description of the signature that is replaced, or `None` if there is none.
fn replaced_signature(rye: &Rye, id: &ItemId) -> Option<String> {
    let replaced = match rye.library().directive(id) {
        Ok(item) => match item.content.provenance() {
            Provenance::Signed(signed) => format!("its signature by key `{}`", signed.key_id()),
            _ => return None,
        },
        Err(ResolveError::Unverified { source, .. }) => match *source {
            rye::sign::Error::Unsigned => return None,
            source => format!("a signature that does not hold ({source})"),
        },
        Err(_) => return None,
    };
    Some(format!("a new signature replaces {replaced}"))
}

/// Returns a line for each thing that a directive adds to its threads.
fn added_lines(added: &Value) -> String {
    let row = |name: &str, part: &Value| -> String {
        let text = |member: &str| part[member].as_str().unwrap_or_default();
        let told = match name {
            "context" if part["knowledge"].is_string() => {
                format!("{} knowledge `{}`", text("position"), text("knowledge"))
            }
            "context" => format!("{} a text", text("position")),
            "hooks" => format!("`{}` at `{}`", text("id"), text("event")),
            _ => output::text(part),
        };
        format!("  {name:<12}  {}\n", output::line(&told))
    };
    let parts = added.as_object().into_iter().flatten();
    let lines = parts.flat_map(|(name, part)| match part {
        Value::Array(rows) => rows.iter().map(|part| row(name, part)).collect::<Vec<_>>(),
        part => vec![row(name, part)],
    });
    let lines: String = lines.collect();
    if lines.is_empty() { "  nothing: it may call no tool\n".to_owned() } else { lines }
}

/// Returns the rows as JSON.
fn answer(rows: &[Row], is_dry: bool) -> Answer {
    let [signed, unchanged, refused] = counts(rows);
    let answer = Answer::of("files", rows.iter().map(|row| row.to_json(is_dry)));
    let answer = answer.with("signed", signed).with("unchanged", unchanged);
    let answer = answer.with("refused", refused);
    answer.with("dry_run", is_dry).fine_if(refused == 0)
}

/// Returns the reason why a file is not signed that a folder or pattern includes. A signature on a trust
/// document vouches for its key, so that it needs an explicit path (SPEC 2.8).
fn refusal(path: &Path, named: &[PathBuf]) -> Option<String> {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if !is_toml || named.iter().any(|name| name == path) || place(path).is_some() {
        return None;
    }
    let text = read_text(path).ok()?;
    let is_document = TrustDocument::parse(&text).is_ok();
    if is_document || RevocationList::parse(&text).is_ok() {
        let (subject, first) = match is_document {
            true => ("trust document", "compare its owner and fingerprint first"),
            false => ("revocation list", "review its entries first"),
        };
        return Some(format!("a {subject} is signed by its own path alone; {first}"));
    }
    None
}

/// Returns the totals. Unchanged files are counted if there are any.
fn totals(rows: &[Row]) -> String {
    let [signed, left_alone, failed] = counts(rows);
    match left_alone {
        0 => format!("{signed} signed, {failed} not signed"),
        _ => format!("{signed} signed, {left_alone} unchanged, {failed} not signed"),
    }
}

/// Counts the files that are signed, unchanged and refused.
fn counts(rows: &[Row]) -> [usize; 3] {
    let unchanged = rows.iter().filter(|row| row.is_unchanged()).count();
    let refused = rows.iter().filter(|row| row.outcome.is_err()).count();
    [rows.len() - unchanged - refused, unchanged, refused]
}

struct Row {
    path: PathBuf,
    outcome: Result<SignedFile, Refusal>,
}

/// The reason why a file was not signed.
struct Refusal {
    message: String,
    excerpt: Option<Excerpt>,
}

impl Refusal {
    fn new(message: String) -> Self {
        Self { message, excerpt: None }
    }

    fn of(error: &SignFileError) -> Self {
        let message = Failure::of(error, Exit::Failed).to_string();
        let excerpt = error.faulty().map(Excerpt::of_unsignable);
        Self { message, excerpt }
    }
}

impl Row {
    fn is_unchanged(&self) -> bool {
        let status = self.outcome.as_ref().map(|file| file.status);
        status.is_ok_and(|status| status == SigningStatus::Unchanged)
    }

    fn print(&self, is_dry: bool, environment: &Environment) {
        let path = self.path.display();
        match &self.outcome {
            Ok(file) => {
                let is_written = is_dry && file.status == SigningStatus::Signed;
                let status = if is_written { "would sign" } else { file.status.as_str() };
                println!("{status:<10} {path}");
                if let Some(at) = &file.changed_since {
                    println!(
                        "           over another content than the one that was signed at {at}"
                    );
                }
                if let Some(key) = &file.replaced {
                    println!("           in place of the signature by `{key}`");
                }
            }
            Err(Refusal { message, excerpt }) => {
                println!("refused    {path}");
                println!("           {message}");
                if let Some(excerpt) = excerpt {
                    output::painted(&rendered(excerpt, environment.output_colors()));
                }
            }
        }
    }

    fn to_json(&self, is_dry: bool) -> Value {
        match &self.outcome {
            Ok(signed) => {
                let mut row = signed.to_json();
                if is_dry && signed.status == SigningStatus::Signed {
                    row["status"] = "would_sign".into();
                }
                row
            }
            Err(refusal) => json!({
                "path": output::path(&self.path),
                "status": "refused",
                "error": refusal.message,
            }),
        }
    }
}
