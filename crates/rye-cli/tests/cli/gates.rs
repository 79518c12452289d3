//! The gates agree: `check`, `sign`, `verify`, `lock`, `list`, `explain`, `caps`, `doctor` and `run` judge a project alike.
//!
//! `tests/gates.txt` has the states of a project, what each gate says of it, and why a gate is not concerned. To add a state, write a
//! block there; its head describes the form.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rye::sign::{CommentStyle, ItemName, RevocationList, RevokedKey, SigningKey, sign};

use crate::session::{Session, example_key};
use crate::sweep::sweep;

const TABLE: &str = include_str!("../../../../tests/gates.txt");

/// Each gate with its command. None of them changes what the next one sees, and `run` comes last.
const GATES: [(&str, &str); 9] = [
    ("check", "check"),
    ("verify", "verify .ai"),
    ("list", "list --kind directive --kind knowledge --kind tool --kind config"),
    ("explain", "explain notes/index"),
    ("caps", "caps explain notes/index"),
    ("doctor", "doctor"),
    ("sign", "sign .ai --dry-run"),
    ("lock", "lock"),
    ("run", "run notes/index --provider steps --input folder=notes"),
];

/// A block of the table.
pub(crate) struct State {
    pub(crate) name: &'static str,
    pub(crate) changes: Vec<&'static str>,
    pub(crate) says: Vec<&'static str>,
    pub(crate) cells: Vec<(&'static str, char)>,
    pub(crate) because: Vec<(&'static str, &'static str)>,
}

pub(crate) fn states() -> Vec<State> {
    let blocks = TABLE.split("\n[").skip(1);
    blocks.map(state).collect()
}

fn state(block: &'static str) -> State {
    let (name, rest) = block.split_once("]\n").unwrap();
    let mut state = State { name, changes: vec![], says: vec![], cells: vec![], because: vec![] };
    for line in rest.lines().take_while(|line| !line.is_empty()) {
        let (word, value) = line.split_once(' ').unwrap();
        let value = value.trim();
        match word {
            "do" => state.changes.push(value),
            "says" => state.says.extend(value.split(" | ")),
            "cells" => state.cells.extend(value.split_whitespace().map(|cell| {
                let (gate, verdict) = cell.split_at(cell.len() - 1);
                (gate, verdict.chars().next().unwrap())
            })),
            "because" => state.because.push(value.split_once(": ").unwrap()),
            other => panic!("`{name}` has a line `{other}`"),
        }
    }
    state
}

/// Makes the quick start, signed by the operator's own key. Each state begins with a copy of it.
pub(crate) fn signed_project() -> Session {
    let session = Session::new();
    for command in ["keys generate", "sign ITEMS --re-sign --at 2026-11-20T18:00:00Z"] {
        let said = session.rye(command);
        assert!(said.ends_with("--- exit 0\n"), "{said}");
    }
    session
}

/// Changes a copy of what [`signed_project`] made.
pub(crate) fn made(signed: &Session, state: &State) -> Session {
    let session = signed.duplicate();
    state.changes.iter().for_each(|change| apply(&session, change));
    session
}

pub(crate) fn apply(session: &Session, change: &str) {
    let mut words = change.splitn(3, ' ');
    let (verb, path) = (words.next().unwrap(), words.next().unwrap().replace("%20", " "));
    let rest = words.next().unwrap_or_default().replace("\\n", "\n").replace("\\t", "\t");
    let place = match path.strip_prefix("~/") {
        Some(path) => session.home().join(path),
        None => session.project().join(&path),
    };
    let fine = |command: &str| {
        let said = session.rye(command);
        assert!(said.ends_with("--- exit 0\n"), "{change}: {said}");
    };
    match verb {
        "write" => {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(&place, rest).unwrap();
        }
        "copy" => session.put(&rest, &fs::read_to_string(&place).unwrap()),
        "move" => {
            let target = session.project().join(&rest);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::rename(&place, target).unwrap();
        }
        "remove" => fs::remove_file(&place).unwrap(),
        "folder" => fs::create_dir_all(&place).unwrap(),
        "link" => link(&place, Path::new(&rest)),
        "sign" => fine(&format!("sign {path} {rest}")),
        "sign-as-it-is" => {
            sign_raw(&place, &session.home().join(".ai/config/keys/signing/private_key.pem"));
        }
        "sign-by-another" => sign_raw(&place, &example_key()),
        "trust-narrow" => trust_narrow(session, &format!("{path} {rest}")),
        "sign-by-narrow" => {
            sign_raw(&place, &session.home().join(NARROW_KEY));
        }
        "rye" => fine(&format!("{path} {rest}")),
        "own-key-is" => trust(session, &format!("{path} = \"2026-11-21T00:00:00Z\"")),
        "own-key-says" => trust(session, &format!("{path} {rest}")),
        "copy-trust" => copy_trust(session),
        "list-own-key" => list_own_key(session, &place, &rest),
        _ => fs::write(&place, edited(&fs::read(&place).unwrap(), verb, &rest)).unwrap(),
    }
}

/// The bytes of a file after a change of its text.
fn edited(bytes: &[u8], verb: &str, rest: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{verb}: {from}: {text}");
        text.replacen(from, to, 1).into_bytes()
    };
    let without = |from: &str, to: &str| {
        let start = text.find(from).unwrap();
        let end = start + text[start..].find(to).unwrap() + to.len();
        (text[..start].to_owned() + &text[end..]).into_bytes()
    };
    match verb {
        "append" => (text + rest).into_bytes(),
        "replace" => {
            let (from, to) = rest.split_once(" => ").expect(rest);
            replaced(from, to)
        }
        "drop" => replaced(rest, ""),
        "cut" => {
            let (from, to) = rest.split_once(' ').unwrap();
            without(from, to)
        }
        "cut-step" => without(&format!("<step name=\"{rest}\">"), "</step>"),
        "unsign" => text.split_once('\n').unwrap().1.as_bytes().to_vec(),
        "crlf" => text.replace('\n', "\r\n").into_bytes(),
        "bom" => [b"\xef\xbb\xbf".as_slice(), bytes].concat(),
        "utf16" => {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
            [b"\xff\xfe".as_slice(), &units].concat()
        }
        "latin1" => [bytes, b"gr\xfc\xdfe\n"].concat(),
        "nul" => [bytes, b"a\0b\n"].concat(),
        other => panic!("`{other}` changes nothing"),
    }
}

/// Signs a file whatever is wrong with it, as another program could.
fn sign_raw(path: &Path, key: &Path) {
    let key = SigningKey::from_pkcs8_pem(&fs::read_to_string(key).unwrap()).unwrap();
    let path = path.parent().unwrap().canonicalize().unwrap().join(path.file_name().unwrap());
    let (kind, id) = rye::place(&path).unwrap();
    let item = ItemName::new(kind.as_str(), id.as_str()).unwrap();
    let style = CommentStyle::of_extension(path.extension().unwrap().to_str().unwrap()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let at = "2026-11-20T18:00:00Z".parse().unwrap();
    fs::write(&path, sign(&text, style, &item, &key, at)).unwrap();
}

#[cfg(unix)]
fn link(place: &Path, target: &Path) {
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, place).unwrap();
}

/// Gives the operator's own trust document one more line, unsigned.
fn trust(session: &Session, line: &str) {
    let path = own_trust(session);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.split_once('\n').filter(|_| text.starts_with('#')).map_or(&*text, |it| it.1);
    let before = text.find("[public_key]").unwrap();
    fs::write(path, format!("{}{line}\n{}", &text[..before], &text[before..])).unwrap();
}

/// The place of the private key that the operator trusts with limited grants.
const NARROW_KEY: &str = "narrow.pem";

/// Lays a trust document of another key into the user space, with these `grants`.
fn trust_narrow(session: &Session, grants: &str) {
    let other = Session::new();
    assert!(other.rye("keys generate").ends_with("--- exit 0\n"));
    trust(&other, &format!("grants = {grants}"));
    let key = other.home().join(".ai/config/keys/signing/private_key.pem");
    fs::copy(key, session.home().join(NARROW_KEY)).unwrap();
    let document = own_trust(&other);
    let folder = session.home().join(".ai/config/keys/trusted");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(&document, folder.join(document.file_name().unwrap())).unwrap();
}

fn own_trust(session: &Session) -> PathBuf {
    let folder = session.home().join(".ai/config/keys/trusted");
    fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

/// Lays a trust document of a key that nobody knows into the project, unsigned.
fn copy_trust(session: &Session) {
    let other = Session::new();
    assert!(other.rye("keys generate").ends_with("--- exit 0\n"));
    let path = own_trust(&other);
    let name = path.file_name().unwrap().to_str().unwrap();
    session.put(&format!(".ai/config/keys/trusted/{name}"), &fs::read_to_string(&path).unwrap());
}

/// Writes a revocation list with the operator's own key, signed by this key: `own`, `another`, or `nobody`.
fn list_own_key(session: &Session, place: &Path, signer: &str) {
    let own = own_trust(session);
    let id = own.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let entry = RevokedKey::new(id, "2026-11-21T00:00:00Z".parse().unwrap(), "left");
    let text = RevocationList::default().with(entry).to_toml();
    let key = match signer {
        "own" => Some(session.home().join(".ai/config/keys/signing/private_key.pem")),
        "another" => Some(example_key()),
        _ => None,
    };
    let signed = key.map(|path| {
        let key = SigningKey::from_pkcs8_pem(&fs::read_to_string(path).unwrap()).unwrap();
        let at = "2026-11-20T18:00:00Z".parse().unwrap();
        sign(&text, CommentStyle::Hash, &RevocationList::item_name(), &key, at)
    });
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, signed.unwrap_or(text)).unwrap();
}

/// The cell of a gate: `-` for a refusal, `~` for a word about it, `+` for none.
fn cell(state: &State, said: &str) -> char {
    // A report wraps its sentences behind a bar.
    let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
    let joined = words.join(" ");
    let is_told = state.says.iter().any(|word| joined.contains(word));
    match (said.ends_with("--- exit 0\n"), is_told) {
        (false, true) => '-',
        (false, false) => '?',
        (true, true) => '~',
        (true, false) => '+',
    }
}

/// Returns what is wrong with a state's row.
fn faults(signed: &Session, state: &State) -> String {
    let session = made(signed, state);
    let (mut faults, mut found) = (String::new(), String::new());
    for (gate, command) in GATES {
        let said = session.rye(command);
        let verdict = cell(state, &said);
        write!(found, " {gate}{verdict}").unwrap();
        let stated = state.cells.iter().find(|cell| cell.0 == gate).map(|cell| cell.1);
        let is_so = match stated {
            Some('.') => verdict == '+',
            Some(stated) => stated == verdict,
            None => false,
        };
        if !is_so {
            writeln!(faults, "  {gate}: {stated:?} is stated\n{said}").unwrap();
        }
    }
    if faults.is_empty() { faults } else { format!("[{}]\ncells{found}\n{faults}", state.name) }
}

/// What `work` makes of each item, in their order.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let part = items.len().div_ceil(4).max(1);
    std::thread::scope(|scope| {
        let work = &work;
        let parts: Vec<_> = items
            .chunks(part)
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// In a whole sweep, of every state; else of every fourth one.
#[test]
fn every_gate_says_what_the_table_says() {
    let (states, signed) = (sweep(states(), 0, 4), signed_project());
    let wrong: String = in_parallel(&states, |state| faults(&signed, state)).into_iter().collect();
    assert!(wrong.is_empty(), "{wrong}");
}

/// Where one gate refuses, another is green only if it says the same, or if the table says why the state is not its business.
#[test]
fn no_gate_is_green_where_another_refuses() {
    let states = states();
    assert!(states.len() >= 80, "{} states", states.len());
    for State { name, cells, because, says, .. } in &states {
        assert_eq!(cells.len(), GATES.len(), "`{name}` has a cell for each gate");
        assert!(!says.is_empty(), "`{name}` says something");
        let is_refused = cells.iter().any(|(_, verdict)| *verdict == '-');
        for (gate, verdict) in cells {
            assert!(GATES.iter().any(|known| known.0 == *gate), "`{name}`: `{gate}` is no gate");
            assert!("+~-.".contains(*verdict), "`{name}`: `{verdict}` is no verdict");
            let is_silent = *verdict == '+' && is_refused;
            assert!(!is_silent, "`{name}`: `{gate}` is green where another gate refuses");
            let is_justified =
                because.iter().any(|(gates, _)| gates.split(' ').any(|it| it == *gate));
            assert_eq!(*verdict == '.', is_justified, "`{name}`: why `{gate}`?");
        }
    }
}
