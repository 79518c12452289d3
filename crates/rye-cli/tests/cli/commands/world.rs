//! The situations in which commands are tried.

use std::collections::BTreeMap;

use crate::session::Session;

/// Where a command is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum World {
    /// A project that somebody else signed, and nothing else.
    New,
    /// The same, its signer trusted.
    Trusting,
    /// The same with the signer's key, so that things can be signed.
    Keyed,
    /// A thread has run here.
    Ran,
    /// A limit has ended a thread here.
    Limited,
    /// A thread has run here, and its receipt is `receipt.json`.
    Receipted,
    /// A thread waits for an approval.
    Waiting,
    /// It was approved.
    Approved,
    /// A thread ran, and its directive was changed and signed again.
    Changed,
    /// A thread ran, and its transcript was changed.
    Tampered,
    /// There is a lock, and something changed since.
    Locked,
    /// An item with a mistake, and files that are not what their names say.
    Broken,
    /// A signing key that is none.
    Damaged,
    /// A project without an item, whose operator has a key.
    Empty,
    /// No project at all.
    Nowhere,
}

const DIRECTIVE: &str = ".ai/directives/notes/index.md";
const RUN: &str = "run notes/index --provider steps";

/// The situations that were made so far, each with its files as they were at first.
#[derive(Default)]
pub(super) struct Worlds(BTreeMap<World, (Session, tempfile::TempDir)>);

impl Worlds {
    /// Returns a session in a situation in which no command has been tried.
    pub(super) fn session(&mut self, world: World) -> &Session {
        let make = || {
            let session = world.session();
            let saved = session.save();
            (session, saved)
        };
        let (session, saved) = self.0.entry(world).or_insert_with(make);
        session.restore(saved);
        session
    }
}

impl World {
    fn session(self) -> Session {
        let session = Session::new();
        if self != Self::New && self != Self::Nowhere {
            session.rye("trust add TRUST --yes");
        }
        match self {
            Self::New | Self::Trusting => {}
            Self::Keyed => keyed(&session),
            Self::Ran => drop(session.rye(RUN)),
            Self::Limited => drop(session.rye(&format!("{RUN} --turns 2"))),
            Self::Receipted => {
                session.rye("keys import KEY --owner example");
                session.rye(RUN);
                session.rye("threads export --format receipt --output receipt.json");
            }
            Self::Waiting => waiting(&session),
            Self::Approved => {
                waiting(&session);
                session.rye("approve THREAD");
            }
            Self::Changed => {
                session.rye(RUN);
                change(&session);
            }
            Self::Tampered => {
                session.rye(RUN);
                let path = format!(".ai/threads/{}/transcript.jsonl", session.thread());
                session.change(&path, "bread.md", "brood.md");
            }
            Self::Locked => {
                session.rye("lock");
                change(&session);
            }
            Self::Broken => broken(&session),
            Self::Damaged => {
                session.put("../home/.ai/config/keys/signing/private_key.pem", "This is no key.\n");
            }
            Self::Empty => {
                session.rye("keys import KEY --owner example");
                std::fs::remove_dir_all(session.project().join(".ai")).unwrap();
                std::fs::create_dir_all(session.project().join(".ai/directives")).unwrap();
            }
            Self::Nowhere => std::fs::remove_dir_all(session.project().join(".ai")).unwrap(),
        }
        session
    }
}

fn keyed(session: &Session) {
    session.rye("keys import KEY --owner example");
    session.put(".ai/knowledge/notes/new.md", "Notes are short.\n");
}

fn waiting(session: &Session) {
    session.asks_before_it_writes();
    session.rye(RUN);
}

fn change(session: &Session) {
    session.change(DIRECTIVE, "List the notes", "Read all notes");
    session.rye(&format!("sign {DIRECTIVE} --key KEY"));
}

fn broken(session: &Session) {
    session.rye("keys import KEY");
    session.change(DIRECTIVE, "turns=", "turn=");
    session.put(".ai/knowledge/notes/unsigned.md", "Nobody signed this.\n");
    session.put(".ai/directives/notes/twice.md", "# Neither this nor that\n");
    session.put(".ai/tools/notes/twice.yaml", "executor: nobody\n");
    session.put("garbage.txt", "This is no key.\n");
    session.put(".ai/garbage.txt", "This is no item.\n");
    session.put(".ai/threads/registry.db", "This is no database, whatever its name says.\n");
}

/// What a person sees, without what differs from machine to machine, and of a long script its ends.
pub(super) fn steady(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if let Some(at) = lines.iter().position(|line| line.contains("  sandbox  ")) {
        lines.retain({
            let mut seen = 0;
            move |line| {
                seen += 1;
                seen <= at || line.starts_with("---")
            }
        });
    }
    if lines.len() > LONGEST {
        let end = lines.split_off(lines.len() - 6);
        lines.truncate(6);
        lines.push("...");
        lines.extend(end);
    }
    without_keys(&format!("{}\n", lines.join("\n")))
}

/// No other transcript is as long as the completions of a shell.
const LONGEST: usize = 400;

/// Ids and fingerprints of keys that are new each time.
fn without_keys(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let mut steady = String::new();
    for word in text.split_inclusive(|c: char| !is_part(c)) {
        let body = word.trim_end_matches(|c: char| !is_part(c));
        let is_hex = body.len() >= 16 && body.bytes().all(|byte| byte.is_ascii_hexdigit());
        let shown = if is_hex { &word.replace(body, "<HEX>") } else { word };
        steady.push_str(shown);
    }
    steady
}
