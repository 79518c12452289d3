//! `rye sign PATH…`.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use rye::resolve::Space;
use rye::sign::{RevocationList, TrustDocument};
use rye::types::{ItemKind, Timestamp};
use rye::{
    Finding, OtherSignature, Severity, SignFileError, SignOptions, SignedFile, SignedFiles,
    SigningStatus, SpacesToCheck, directive_additions, is_plain_file, place,
};
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
                  A folder or a pattern signs what is unsigned and what your key signed. It leaves alone what another key signed: \
                  `kept` is a file whose signature counts, `refused` one whose signature does not, and then the exit code is 1. \
                  Name the file itself, by its path or id, to sign it in that key's place. Put patterns in quotes, because a shell \
                  names each file itself.\n\n\
                  A plain file of the project outside of `.ai`, such as `AGENTS.md`, is signed by its own path the first time. It stays as it is, and \
                  its signature is kept in `.ai/signed`. Directives take it into their context with `<before file=\"AGENTS.md\" />`.\n\n\
                  One bad file does not stop the others; the exit code says that there was one. Each file is replaced whole \
                  or not at all, with its mode and its line ends. Links are refused; other names of the same file, by hard \
                  links, keep the unsigned text.\n\n\
                        Examples:\n  rye sign notes/index\n  rye sign .ai\n  rye sign '.ai/directives/**/*.md'\n  rye sign .ai --dry-run\n  rye sign AGENTS.md"
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
    let (files, named) = files::named_with_own(&arguments.paths, environment)?;
    let refusal = |path: &PathBuf| {
        let is_meant = named.contains(path) || spaces.is_signed_plain_file(path);
        refusal(path).filter(|_| !is_meant)
    };
    let refusals = files.iter().map(refusal);
    let refusals: Vec<Option<String>> = refusals.collect();
    let options = |path: &PathBuf| SignOptions {
        anew: arguments.re_sign,
        dry_run: arguments.dry_run,
        keep_others: !named.contains(path),
    };
    let to_sign = files.iter().zip(&refusals).filter(|(_, refusal)| refusal.is_none());
    let to_sign: Vec<_> = to_sign.map(|(path, _)| (path.clone(), options(path))).collect();
    let SignedFiles { results, spaces, .. } = spaces.sign_files(&to_sign, &key, at)?;
    let mut results = results.into_iter();
    let row = |(path, refusal): (PathBuf, Option<String>)| {
        let outcome = match refusal {
            Some(reason) => Outcome::Refused(Refusal::new(reason)),
            None => Outcome::of(results.next().expect("because each of these files has a result")),
        };
        Row::new(path, outcome)
    };
    let mut rows: Vec<Row> = files.into_iter().zip(refusals).map(row).collect();
    add_warnings(&mut rows, &spaces);
    if environment.json() {
        answer(&rows, arguments.dry_run).print();
    } else {
        rows.iter().for_each(|row| row.print(arguments.dry_run, environment));
        let written = if arguments.dry_run { "; nothing is written" } else { "" };
        println!("{}{written}", Totals::of(&rows));
    }
    warn_of_end(&key.public(), environment);
    Ok(if rows.iter().all(|row| !row.is_refused()) { Exit::Fine } else { Exit::Failed })
}

/// Adds what `rye check` finds in the items that were signed, as they are now: its warnings, and errors that do not keep a file from
/// being signed, because they lie elsewhere. Documents about keys are no items.
fn add_warnings(rows: &mut [Row], spaces: &SpacesToCheck) {
    let is_meant = |row: &&mut Row| row.is_signed() && place(&row.path).is_some();
    let mut signed: Vec<&mut Row> = rows.iter_mut().filter(is_meant).collect();
    let paths: Vec<PathBuf> = signed.iter().map(|row| row.path.clone()).collect();
    if paths.is_empty() {
        return;
    }
    for (row, checked) in signed.iter_mut().zip(spaces.checker().check_files(&paths)) {
        let is_told = |it: &&Finding| it.severity != Severity::Note;
        row.warnings = checked.findings.iter().filter(is_told).cloned().collect();
    }
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
    let options = SignOptions { dry_run: true, ..SignOptions::default() };
    let file = rye.sign_file_with(&path, &key, at, options)?;
    if file.status == SigningStatus::Unchanged {
        return Ok(());
    }
    changes(&file).iter().for_each(|change| eprintln!("{}: {change}", path.display()));
    eprintln!("signing {}, which adds:", path.display());
    let text = read_text(&path)?;
    let directive = rye::parse::directive(&text);
    let added = directive.map(|directive| directive_additions(&directive)).unwrap_or_default();
    eprint!("{}", output::visible(&added_lines(&added)));
    rye.sign_text(&path, &text, &key, at)?;
    let mut rows = [Row::new(path, Outcome::Signed(file))];
    // The file is signed, whatever keeps it from being checked now.
    if let Ok(spaces) = environment.to_check(false, false) {
        add_warnings(&mut rows, &spaces);
    }
    rows.iter().flat_map(Row::warning_lines).for_each(|line| eprintln!("{line}"));
    warn_of_end(&key.public(), environment);
    Ok(())
}

/// Returns a line for each thing that a directive adds to its threads.
fn added_lines(added: &Value) -> String {
    let row = |name: &str, part: &Value| -> String {
        let text = |member: &str| part[member].as_str().unwrap_or_default();
        let told = match name {
            "context" if part["knowledge"].is_string() => {
                format!("{} knowledge `{}`", text("position"), text("knowledge"))
            }
            "context" if part["file"].is_string() => {
                format!("{} file `{}`", text("position"), text("file"))
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
    let totals = Totals::of(rows);
    let answer = Answer::of("files", rows.iter().map(|row| row.to_json(is_dry)));
    let answer = answer.with("signed", totals.signed).with("unchanged", totals.unchanged);
    let answer = answer.with("kept", totals.kept).with("refused", totals.refused);
    let answer = answer.beside("warnings", rows.iter().flat_map(Row::warnings_json));
    answer.with("dry_run", is_dry).fine_if(totals.refused == 0)
}

/// Returns the reason why a file is not signed that a folder or pattern includes. A signature on a trust
/// document vouches for its key, so that it needs an explicit path (SPEC 2.8). Most files outside of `.ai` are no context, so that a
/// plain file needs one, too (SPEC 17.3).
fn refusal(path: &Path) -> Option<String> {
    if is_plain_file(path) {
        let reason = "it is no item; a plain file, which directives take as `<before file=\"…\" />`, is signed by its own path the first time";
        return Some(reason.to_owned());
    }
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if !is_toml || place(path).is_some() {
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

/// The numbers of files by what became of them.
#[derive(Default)]
struct Totals {
    signed: usize,
    unchanged: usize,
    kept: usize,
    refused: usize,
}

impl Totals {
    fn of(rows: &[Row]) -> Self {
        let mut totals = Self::default();
        for row in rows {
            *match &row.outcome {
                Outcome::Signed(file) if file.status == SigningStatus::Unchanged => {
                    &mut totals.unchanged
                }
                Outcome::Signed(_) => &mut totals.signed,
                Outcome::Kept(_) => &mut totals.kept,
                Outcome::Refused(_) => &mut totals.refused,
            } += 1;
        }
        totals
    }
}

impl fmt::Display for Totals {
    /// Writes the totals in one line. Unchanged and kept files are counted if there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { signed, unchanged, kept, refused } = self;
        write!(f, "{signed} signed, ")?;
        for (number, state) in [(unchanged, "unchanged"), (kept, "kept")] {
            if *number > 0 {
                write!(f, "{number} {state}, ")?;
            }
        }
        write!(f, "{refused} not signed")
    }
}

struct Row {
    path: PathBuf,
    outcome: Outcome,
    /// The warnings of `rye check`, where the file was signed.
    warnings: Vec<Finding>,
}

/// The result for one file.
enum Outcome {
    Signed(SignedFile),
    /// Another key signed it, and that signature counts.
    Kept(Box<OtherSignature>),
    Refused(Refusal),
}

impl Outcome {
    fn of(result: Result<SignedFile, SignFileError>) -> Self {
        match result {
            Ok(file) => Self::Signed(file),
            Err(SignFileError::OfOtherKey { signature, .. }) => match &signature.fault {
                None => Self::Kept(signature),
                Some(fault) => Self::Refused(Refusal::new(format!(
                    "{}; {BY_ITSELF} of `{}`",
                    fault.message, signature.key_id
                ))),
            },
            Err(error) => Self::Refused(Refusal::of(&error)),
        }
    }
}

/// The way to sign what a folder or pattern leaves alone.
const BY_ITSELF: &str = "name the file itself to sign it in the place";

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

/// Returns a sentence for each thing that a new signature changes beside its own line.
fn changes(file: &SignedFile) -> Vec<String> {
    let over = |at| format!("over another content than the one that was signed at {at}");
    let since = file.changed_since.map(over);
    since.into_iter().chain(file.replaced.iter().map(|it| it.replacement(&file.path))).collect()
}

impl Row {
    fn new(path: PathBuf, outcome: Outcome) -> Self {
        Self { path, outcome, warnings: Vec::new() }
    }

    fn is_signed(&self) -> bool {
        matches!(&self.outcome, Outcome::Signed(file) if file.status == SigningStatus::Signed)
    }

    /// Returns a line for each warning about configuration, which nothing else tells before it takes effect, and the number of
    /// those about another item.
    fn warning_lines(&self) -> Vec<String> {
        let is_config = place(&self.path).is_some_and(|(kind, _)| kind == ItemKind::Config);
        match self.warnings.len() {
            0 => Vec::new(),
            _ if is_config => {
                let line = |it: &Finding| format!("{}: {}", it.severity.as_str(), it.sentence());
                self.warnings.iter().map(line).collect()
            }
            count => {
                let errors = self.warnings.iter().filter(|it| it.severity == Severity::Error);
                let n_errors = errors.count();
                let counts = [(n_errors, "error"), (count - n_errors, "warning")];
                let counts = counts.into_iter().filter(|(count, _)| *count != 0);
                let counts: Vec<String> =
                    counts.map(|(count, what)| output::counted(count, what)).collect();
                vec![format!(
                    "{}: `rye check {}` shows {}",
                    counts.join(" and "),
                    self.path.display(),
                    if count == 1 { "it" } else { "them" }
                )]
            }
        }
    }

    fn warnings_json(&self) -> impl Iterator<Item = Value> {
        self.warnings.iter().map(|finding| {
            json!({
                "path": output::path(&self.path),
                "severity": finding.severity.as_str(),
                "code": finding.code,
                "message": finding.sentence(),
            })
        })
    }

    fn is_refused(&self) -> bool {
        matches!(self.outcome, Outcome::Refused(_))
    }

    fn print(&self, is_dry: bool, environment: &Environment) {
        let path = self.path.display();
        let detail = |text: &str| println!("           {text}");
        match &self.outcome {
            Outcome::Signed(file) => {
                let is_written = is_dry && file.status == SigningStatus::Signed;
                let status = if is_written { "would sign" } else { file.status.as_str() };
                println!("{status:<10} {path}");
                if let Some(beside) = &file.signature_path {
                    detail(&format!("its signature is in `{}`", beside.display()));
                }
                changes(file).iter().chain(&self.warning_lines()).for_each(|line| detail(line));
            }
            Outcome::Kept(signature) => {
                println!("kept       {path}");
                detail(&format!("signed by {}; {BY_ITSELF} of that", signature.signer()));
            }
            Outcome::Refused(Refusal { message, excerpt }) => {
                println!("refused    {path}");
                detail(message);
                if let Some(excerpt) = excerpt {
                    output::painted(&rendered(excerpt, environment.output_colors()));
                }
            }
        }
    }

    fn to_json(&self, is_dry: bool) -> Value {
        let path = output::path(&self.path);
        match &self.outcome {
            Outcome::Signed(signed) => {
                let mut row = signed.to_json();
                if is_dry && signed.status == SigningStatus::Signed {
                    row["status"] = "would_sign".into();
                }
                row
            }
            Outcome::Kept(signature) => {
                json!({ "path": path, "status": "kept", "kept": signature.to_json() })
            }
            Outcome::Refused(refusal) => {
                json!({ "path": path, "status": "refused", "error": refusal.message })
            }
        }
    }
}
