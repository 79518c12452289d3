//! A project of ten thousand signed entries and a user space that trusts their key, for benches of a whole process.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::{
    fs,
    path::Path,
    process::Output,
    time::{Duration, Instant},
};

use assert_cmd::Command;
use rye::sign::{CommentStyle, ItemName, SigningKey, TrustDocument, sign};
use rye::types::Timestamp;

pub(crate) const N_ENTRIES: usize = 10_000;
/// Words that occur somewhere; a large handbook has about as many.
const N_WORDS: usize = 12_000;

/// Runs the program in the project, and says how long it took from its start to its end.
pub(crate) fn rye(folder: &Path, arguments: &[&str]) -> (Output, Duration) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder.join("home"));
    let started = Instant::now();
    let output = command.output().expect("because the program was built");
    let elapsed = started.elapsed();
    (output, elapsed)
}

/// Prints the median and the best of some times, and gives them in milliseconds.
pub(crate) fn report(name: &str, mut times: Vec<Duration>) -> [f64; 2] {
    times.sort_unstable();
    let milliseconds = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let (best, median) = (milliseconds(times.first()), milliseconds(times.get(times.len() / 2)));
    println!("{name:<32} median {median:>8.1} ms   best {best:>8.1} ms");
    [median, best]
}

/// Writes the entries and a user space that trusts their key, and gives the entries' size in bytes.
pub(crate) fn write_project(folder: &Path) -> usize {
    let key = trusted_key(folder);
    let mut random = 1;
    let entry = |number| {
        let text = text(number, &mut random);
        put(folder, &key, ("knowledge", &id(number)), CommentStyle::Html, &text)
    };
    (0..N_ENTRIES).map(entry).sum()
}

/// A key that the user space trusts.
pub(crate) fn trusted_key(folder: &Path) -> SigningKey {
    let key = SigningKey::generate().expect("because the system gives random bytes");
    let trust = TrustDocument::new("measurements", key.public());
    let trusted = folder.join("home/.ai/config/keys/trusted");
    let document = trusted.join(format!("{}.toml", key.public().key_id()));
    write(&document, &trust.to_toml());
    key
}

/// Writes an item, signed, and gives its size in bytes.
pub(crate) fn put(
    folder: &Path,
    key: &SigningKey,
    (kind, id): (&str, &str),
    style: CommentStyle,
    text: &str,
) -> usize {
    let item = ItemName::new(kind, id).expect("because it is a plain name");
    let text = sign(text, style, &item, key, Timestamp::from_unix(1_700_000_000));
    let (shelf, extension) = match kind {
        "knowledge" => ("knowledge", "md"),
        "tool" => ("tools", "yaml"),
        _ => ("directives", "md"),
    };
    write(&folder.join(format!(".ai/{shelf}/{id}.{extension}")), &text);
    text.len()
}

/// The id of an entry; a hundred share a folder.
pub(crate) fn id(number: usize) -> String {
    format!("part{}/entry{number}", number / 100)
}

pub(crate) fn text(number: usize, random: &mut u64) -> String {
    let title = [random_word(random), random_word(random), random_word(random)].join(" ");
    let mut text = format!(
        "```yaml\nname: entry{number}\ntitle: {title}\nentry_type: reference\ncategory: part{}\nversion: 1.0.0\ntags: [{}]\n```\n\n",
        number / 100,
        random_word(random)
    );
    let length = 1024 + next(random) as usize % 1024;
    while text.len() < length {
        let words: Vec<String> = (0..9).map(|_| random_word(random)).collect();
        text += &words.join(" ");
        text += ".\n";
    }
    if number == N_ENTRIES / 2 {
        text += "\nThe needle in the haystack.\n";
    }
    text
}

/// A word of which the first ones are frequent and the last ones rare, as words are.
fn random_word(random: &mut u64) -> String {
    let uniform = (next(random) >> 11) as f64 / (1_u64 << 53) as f64;
    word((N_WORDS as f64).powf(uniform) as usize)
}

pub(crate) fn word(number: usize) -> String {
    const SYLLABLES: [&str; 23] = [
        "ka", "lo", "mir", "ten", "su", "ra", "vel", "dor", "pin", "qua", "shi", "bel", "tro",
        "nak", "fe", "gul", "zan", "wi", "hor", "cy", "jem", "ost", "um",
    ];
    let (mut rest, mut word) = (number + 23, String::new());
    while rest > 0 {
        word += SYLLABLES.get(rest % 23).copied().unwrap_or_default();
        rest /= 23;
    }
    word
}

/// Xorshift, so that every run measures the same texts.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("because the file is in a folder");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .expect("because the folder is ours");
}
