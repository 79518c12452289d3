//! `rye trust add`.

use std::path::PathBuf;

use clap::Args;
use rye::caps::Pattern;
use rye::primary::Destination;
use rye::resolve::{Space, TrustEntry};
use rye::sign::{KeyId, Origin, PublicKey, TrustDocument};
use rye::types::Timestamp;
use serde_json::json;

use super::listing::{detail, extent, limits, standing};
use super::project::ProjectDocument;
use super::{Known, space};
use crate::confirm;
use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{KeyStore, create, vouched_text};
use crate::output::{self, Answer};
use crate::unmatched;

/// Trust a key from now on, after a look at its owner and its fingerprint
#[derive(Debug, Args)]
#[command(
    after_help = "Compare the fingerprint with its owner by another way than the one that the file came by. Without a \
                  terminal, give `--fingerprint` or `--yes`.\n\n\
                  With `--to project`, the document goes into the project, signed by your own key. There it counts for all who \
                  trust your key themselves and not only by a document of the project, and for no more than your key may grant.\n\n\
                  Examples:\n  rye trust add ada.pem --owner ada@example.org\n  \
                  rye trust add ada.toml --expires 2027-06-30T00:00:00Z\n  \
                  rye trust add 56dbf7b2d9ce86ed --grants 'rye.execute.tool.notes.*'\n  \
                  rye trust add ada.toml --to project"
)]
pub(crate) struct Arguments {
    /// A trust document, a public key in PEM, or the id of a key whose document the project carries
    #[arg(value_name = "FILE|ID")]
    source: PathBuf,
    /// The owner of the key; needed for a PEM, and in place of what a document says
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// The most that items signed by the key may be granted (comma-separated, or many times), in place of what the
    /// document says; an empty text: nothing; default: no limit
    #[arg(long, value_name = "PATTERN", value_delimiter = ',', value_parser = pattern_or_nothing)]
    grants: Vec<PatternOrNothing>,
    /// The time when the trust ends, such as `2027-06-30T00:00:00Z`, in place of what the document says
    #[arg(long, value_name = "TIME")]
    expires: Option<Timestamp>,
    /// The 64 digits that the key's owner told you; anything else is refused
    #[arg(long, value_name = "HEX", value_parser = fingerprint)]
    fingerprint: Option<KeyId>,
    /// Write the document into this space [possible values: project, user]
    #[arg(long, value_name = "SPACE", default_value = "user")]
    to: Destination,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(
    arguments: &Arguments,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let offer = Offer::of(arguments, known, environment)?;
    let document = &offer.document;
    let place = match arguments.to {
        Destination::Project => {
            Place::Project(ProjectDocument::of(document, &offer.source, known, environment)?)
        }
        Destination::User => {
            check_new(document, known)?;
            Place::User
        }
    };
    if let Some(stated) = &arguments.fingerprint {
        check_fingerprint(stated, document)?;
    } else if !arguments.yes {
        ask(&offer, arguments.to)?;
    }
    let path = match place {
        Place::Project(document) => {
            output::warnings(document.warning().as_slice());
            document.write()?
        }
        Place::User => {
            let path = KeyStore::of(environment)?.document(document);
            create(
                &path,
                &vouched_text(document, &known.store_for(Destination::User), environment)?,
                0o644,
            )?;
            path
        }
    };
    let status = standing(document, &Known::read(environment)?.store);
    output::warnings(&arguments.unmatched_grants(environment));
    if environment.json() {
        let row = json!({
            "key_id": document.key().key_id().to_string(),
            "fingerprint": document.key().fingerprint().to_string(),
            "owner": document.owner(),
            "status": status,
            "path": output::path(&path),
        });
        Answer::one("documents", row).print();
    } else {
        println!("{status:<8} {}  {}", document.key().key_id(), document.owner());
        detail("fingerprint", document.key().fingerprint().as_str());
        limits(document, None);
        detail("document", &path.display().to_string());
    }
    Ok(Exit::Fine)
}

/// The space that the document is written into.
enum Place<'a> {
    Project(ProjectDocument<'a>),
    User,
}

/// The document to write, with the notes about its source.
struct Offer {
    document: TrustDocument,
    /// The text of the source, as it was read.
    source: String,
    notes: Vec<String>,
}

impl Offer {
    fn of(
        arguments: &Arguments,
        known: &Known,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let text = text(arguments, known, environment)?;
        if text.trim_start().starts_with("-----BEGIN") {
            let key = PublicKey::from_pem(&text).map_err(|error| arguments.wrong(&error))?;
            let Some(owner) = &arguments.owner else {
                return Err(Failure::usage(
                    "a public key says nothing of its owner; name its owner with `--owner NAME`",
                ));
            };
            let document = arguments.with_overrides(&TrustDocument::new(owner, key))?;
            return Ok(Self { document, source: text, notes: Vec::new() });
        }
        let mut store = known.store_for(arguments.to);
        let admission = store.admit(&text, None, Origin::Run, Environment::now());
        let admission = admission.map_err(|error| arguments.wrong(&error))?;
        let document = TrustDocument::parse(&text).map_err(|error| arguments.wrong(&error))?;
        let notes = admission.notes.iter().map(ToString::to_string).collect();
        Ok(Self { document: arguments.with_overrides(&document)?, source: text, notes })
    }
}

fn text(
    arguments: &Arguments,
    known: &Known,
    environment: &Environment,
) -> Result<String, Failure> {
    let path = environment.absolute(&arguments.source);
    let key_id = arguments.source.to_str().and_then(|text| text.parse::<KeyId>().ok());
    let Some(key_id) = key_id.filter(|_| !path.exists()) else { return read_text(&path) };
    let carried = match arguments.to {
        Destination::Project => known.to_hand_on(&key_id),
        Destination::User => {
            let mut others = known.of(&key_id).into_iter();
            others.find(|entry| space(entry) != Some(Space::User) && entry.text().is_some())
        }
    };
    carried.and_then(TrustEntry::text).map(str::to_owned).ok_or_else(|| {
        Failure::failed(format!(
            "the project carries no trust document for the key `{key_id}`; ask the owner for it, or for the public key, and give the file"
        ))
    })
}

impl Arguments {
    fn wrong(&self, error: &dyn std::error::Error) -> Failure {
        let failure = Failure::of(error, Exit::Refused);
        failure.within(&format!("`{}` cannot be trusted", self.source.display()))
    }

    /// Returns the document with the operator's values in place of its own.
    fn with_overrides(&self, document: &TrustDocument) -> Result<TrustDocument, Failure> {
        let owner = self.owner.as_deref().unwrap_or(document.owner());
        if owner.trim().is_empty() {
            return Err(Failure::usage("the owner is empty; name the owner of the key"));
        }
        let new = TrustDocument::new(owner, document.key().clone());
        let mut new = new.with_attestation(document.attestation());
        if let Some(grants) = self.ceiling(document)? {
            new = new.with_grants(grants);
        }
        if let Some(at) = self.expires.or(document.expires()) {
            new = new.with_expires(at);
        }
        if self.expires.is_some_and(|at| at <= Environment::now()) {
            return Err(Failure::usage("`--expires` is a time that has passed"));
        }
        Ok(document.revoked().map_or(new.clone(), |at| new.with_revoked(at)))
    }

    /// Returns warnings of patterns of `--grants` that cover nothing. What the key signed counts by now. Without a project,
    /// they may be meant for items that are not there.
    fn unmatched_grants(&self, environment: &Environment) -> Vec<String> {
        let patterns: Vec<Pattern> = self.grants.iter().filter_map(|it| it.0.clone()).collect();
        // A project that cannot be opened is no fault of this command.
        match environment.rye() {
            Ok(rye) if environment.project().is_ok() => {
                unmatched::warnings("--grants", &patterns, &rye)
            }
            Ok(rye) => unmatched::near_warnings("--grants", &patterns, &rye),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the patterns of the document. They are checked first, because an invalid one would refuse
    /// every item of the key.
    fn ceiling(&self, document: &TrustDocument) -> Result<Option<Vec<String>>, Failure> {
        if !self.grants.is_empty() {
            let patterns = self.grants.iter().filter_map(|it| it.0.as_ref());
            return Ok(Some(patterns.map(ToString::to_string).collect()));
        }
        for text in document.grants().unwrap_or_default() {
            text.parse::<Pattern>().map_err(|error| self.wrong(&error))?;
        }
        Ok(document.grants().map(<[String]>::to_vec))
    }
}

/// A pattern, or the empty text, which grants nothing.
#[derive(Debug, Clone)]
struct PatternOrNothing(Option<Pattern>);

fn pattern_or_nothing(text: &str) -> Result<PatternOrNothing, rye::caps::PatternError> {
    if text.is_empty() {
        return Ok(PatternOrNothing(None));
    }
    text.parse().map(|pattern| PatternOrNothing(Some(pattern)))
}

/// Parses a fingerprint. The short id of a key is none.
fn fingerprint(text: &str) -> Result<KeyId, &'static str> {
    let key_id = text.parse::<KeyId>().ok().filter(|key_id| key_id.as_str().len() == FINGERPRINT);
    key_id.ok_or(
        "write all 64 lowercase hex digits, which `rye keys show` shows to the key's owner; 16 of them can be imitated",
    )
}

/// The number of digits of a fingerprint.
const FINGERPRINT: usize = 64;

fn check_new(document: &TrustDocument, known: &Known) -> Result<(), Failure> {
    let key_id = document.key().key_id();
    let Some(entry) = known.of_user(key_id) else { return Ok(()) };
    let path = entry.location.as_ref().map(|location| location.path.display().to_string());
    Err(Failure::failed(format!(
        "the key `{key_id}` has a trust document already, `{}`; `rye trust show {key_id}` shows it, and `rye trust remove {key_id}` makes room for another",
        path.unwrap_or_default()
    )))
}

fn check_fingerprint(stated: &KeyId, document: &TrustDocument) -> Result<(), Failure> {
    let fingerprint = document.key().fingerprint();
    if stated == fingerprint {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "this is another key: its fingerprint is `{fingerprint}`, not `{stated}`; nothing is trusted"
    )))
}

/// Shows the document and asks the user at the terminal.
fn ask(offer: &Offer, to: Destination) -> Result<(), Failure> {
    let document = &offer.document;
    let owner = output::line(document.owner());
    let fingerprint = document.key().fingerprint();
    let mut shown = format!("owner        {owner}\nfingerprint  {fingerprint}");
    for (name, text) in extent(document, None) {
        shown += &format!("\n{name:<11}  {}", output::line(&text));
    }
    if to == Destination::Project {
        shown += "\ntrusted by   all who read this project and trust your key themselves";
    }
    let notes: String =
        offer.notes.iter().map(|note| format!("\nnote         {}", output::line(note))).collect();
    let question = format!("{shown}{notes}\nDid its owner tell you this fingerprint?");
    let advice = format!(
        "there is no terminal to ask whether the key of `{owner}` with the fingerprint `{fingerprint}` is to be trusted; give `--fingerprint HEX` with the digits that its owner told you, or `--yes`"
    );
    confirm::require(&question, "nothing is trusted", &advice)
}
