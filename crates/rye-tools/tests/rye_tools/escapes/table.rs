//! The attempts, as data: which tools, at which path, and why each of them says no.

use super::Why;
use Why::*;

/// Tools, the path that each of them is given, and the reason of the refusal.
pub(super) type Row = (&'static [&'static str], &'static str, Why);

const ALL: &[&str] = &["read", "write", "edit", "ls", "glob", "grep"];
const LOOK: &[&str] = &["read", "ls", "glob", "grep"];
const CHANGE: &[&str] = &["write", "edit"];
const WRITE: &[&str] = &["write"];

const LOCK: &str = "`.ai/rye.lock` says what somebody accepted, so tools do not write it";

pub(super) const ROWS: &[Row] = &[
    // By the text of the path.
    (ALL, "../outside/secret.txt", Parent),
    (ALL, "..", Parent),
    (ALL, "notes/../../outside/secret.txt", Parent),
    (ALL, "notes/../notes/a.md", Parent),
    (ALL, "notes/..", Parent),
    (ALL, "threads/../../outside", Parent),
    (ALL, ".. /outside/x", Parent),
    (ALL, "/etc/hostname", Absolute),
    (ALL, "/tmp/rye-escape", Absolute),
    (ALL, "/", Absolute),
    (ALL, "//etc/hostname", Absolute),
    (ALL, "C:/x", Because("it starts with a drive; give it relative to the project folder")),
    (ALL, "..\\outside\\secret.txt", Because("it has a backslash; separate folders with `/`")),
    (ALL, "file:///etc/hostname", Because("it is a URL; give a path below the project folder")),
    (ALL, "~/x", Because("`~` is not expanded; give it relative to the project folder")),
    (ALL, "notes/a.md\0.txt", Because("it has a control character")),
    (ALL, "a\nb", Because("it has a control character")),
    (
        ALL,
        "",
        Because("it is empty; give a path below the project folder, or `.` for the folder itself"),
    ),
    // Through links.
    (ALL, "out-folder/secret.txt", Link("out-folder")),
    (ALL, "out-folder/new.txt", Link("out-folder")),
    (ALL, "out-folder", Link("out-folder")),
    (ALL, "out-folder/a/b/c.txt", Link("out-folder")),
    (ALL, "out-file", Link("out-file")),
    (ALL, "out-new", Link("out-new")),
    (ALL, "up", Link("up")),
    (ALL, "up/project/notes/a.md", Link("up")),
    (ALL, "round-trip/a.md", Link("round-trip")),
    (ALL, "hop", Link("out-folder")),
    (ALL, "notes/inner/climb", Link("notes/inner/climb")),
    (ALL, "notes/zigzag", Link("notes/zigzag")),
    (ALL, "etc", Link("etc")),
    (ALL, "etc/hostname", Link("etc")),
    (ALL, "absolute-inside/a.md", Link("absolute-inside")),
    (ALL, "device", Link("device")),
    (ALL, "process/environ", Link("process")),
    (ALL, "process/root/etc/hostname", Link("process")),
    (ALL, "loop", Because("it goes through more than 40 links")),
    (ALL, "ping/x", Because("it goes through more than 40 links")),
    // What is no regular file.
    (ALL, "pipe", Special),
    (ALL, "socket", Special),
    // Keys and threads.
    (WRITE, ".ai/config/keys/trusted/mine.toml", Keys),
    (CHANGE, ".ai/config/keys/trusted/k.toml", Keys),
    (CHANGE, "keys/trusted/k.toml", Keys),
    (CHANGE, "ai/config/keys/trusted/k.toml", Keys),
    (WRITE, ".AI/Config/KEYS/x", Keys),
    (WRITE, ".ai/config/keys./x", Keys),
    (WRITE, ".ai/config/\u{212a}eys/x", Keys),
    (WRITE, ".ai/config/ke\u{200b}ys/x", Keys),
    (WRITE, "sub/.ai/config/keys/trusted/k.toml", Keys),
    (LOOK, ".ai/config/keys/signing/private_key.pem", Signing),
    (LOOK, ".ai/config/keys/signing", Signing),
    (CHANGE, ".ai/config/keys/signing/private_key.pem", Keys),
    (LOOK, "keys/signing/private_key.pem", Signing),
    (LOOK, "key", Signing),
    (&["read", "grep", "edit"], "copy.pem", Signing),
    (LOOK, ".ai/config/keys/SIGNING/private_key.pem", Signing),
    (CHANGE, ".ai/threads/t/transcript.jsonl", Threads),
    (WRITE, ".ai/threads/new/thread.json", Threads),
    (CHANGE, ".ai/threads", Threads),
    (WRITE, "threads/registry.db", Threads),
    (WRITE, "new-thread", Threads),
    (CHANGE, "notes/sneak/transcript.jsonl", Threads),
    (WRITE, ".ai/threads::$DATA/x", Threads),
    (CHANGE, ".ai/rye.lock", Because(LOCK)),
    (WRITE, ".AI/Rye.Lock", Because(LOCK)),
    // `git`, which runs what is there.
    (CHANGE, ".git/config", Git),
    (CHANGE, ".git", Git),
    (WRITE, ".git/hooks/pre-commit", Git),
    (WRITE, ".GIT/hooks/pre-commit", Git),
    (WRITE, "vendored/.git/config", Git),
    (CHANGE, "repository/config", Git),
    (WRITE, "notes/inner/.git", Git),
    // Depth and length.
    (ALL, DEEP, Because("it has more than 100 parts")),
    (ALL, LONG, Because("it is too long; a path has at most 4096 bytes, each part at most 255")),
    (ALL, "spiral/x", Because("it goes through more than 100 folders")),
];

const DEEP: &str = concat!(
    "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/",
    "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d",
);
const LONG: &str = concat!(
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
);

/// Calls that are allowed where they stand, and must show nothing of what lies outside or is kept: tool, arguments, and what
/// is refused of them, or how many results there are.
pub(super) const SEARCHES: &[(&str, &str, Result<u64, &str>)] = &[
    ("grep", r#"{"pattern": "CANARY"}"#, Ok(0)),
    ("grep", r#"{"pattern": "CANARY", "hidden": true, "ignored": true}"#, Ok(0)),
    (
        "grep",
        r#"{"pattern": "(?i)canary|root:|PRIVATE", "hidden": true, "ignored": true, "context": 20}"#,
        Ok(0),
    ),
    (
        "grep",
        r#"{"pattern": "CANARY", "files_only": true, "hidden": true, "ignored": true}"#,
        Ok(0),
    ),
    ("grep", r#"{"pattern": "CANARY", "path": ".ai", "hidden": true}"#, Ok(0)),
    ("grep", r#"{"pattern": "CANARY", "path": ".ai/config/keys", "hidden": true}"#, Ok(0)),
    ("grep", r#"{"pattern": "CANARY", "path": "keys", "hidden": true}"#, Ok(0)),
    (
        "grep",
        r#"{"pattern": "CANARY", "globs": ["**/signing/**", "*.pem"], "hidden": true}"#,
        Ok(0),
    ),
    (
        "grep",
        r#"{"pattern": "CANARY", "globs": ["../outside/*"]}"#,
        Err(
            "the glob `../outside/*` cannot be used: it has a `..` part; give it from the project folder downward",
        ),
    ),
    (
        "grep",
        r#"{"pattern": "CANARY", "globs": ["!/etc/*"]}"#,
        Err(
            "the glob `/etc/*` cannot be used: it is absolute; give it relative to the project folder",
        ),
    ),
    ("glob", r#"{"pattern": "**", "hidden": true, "ignored": true, "path": ".ai/config"}"#, Ok(1)),
    ("glob", r#"{"pattern": "**/secret.txt", "hidden": true, "ignored": true}"#, Ok(0)),
    ("glob", r#"{"pattern": "**/*.pem", "hidden": true, "ignored": true}"#, Ok(1)),
    ("glob", r#"{"pattern": "**/hostname", "hidden": true, "ignored": true}"#, Ok(0)),
    (
        "glob",
        r#"{"pattern": "../*"}"#,
        Err(
            "the glob `../*` cannot be used: it has a `..` part; give it from the project folder downward",
        ),
    ),
    (
        "glob",
        r#"{"pattern": "notes/../../outside/*"}"#,
        Err(
            "the glob `notes/../../outside/*` cannot be used: it has a `..` part; give it from the project folder downward",
        ),
    ),
    (
        "glob",
        r#"{"pattern": "/etc/*"}"#,
        Err(
            "the glob `/etc/*` cannot be used: it is absolute; give it relative to the project folder",
        ),
    ),
    (
        "glob",
        r#"{"pattern": "~/*"}"#,
        Err(
            "the glob `~/*` cannot be used: `~` is not expanded; give it relative to the project folder",
        ),
    ),
    ("glob", r#"{"pattern": "{..,notes}/*"}"#, Ok(1)),
    (
        "glob",
        r#"{"pattern": "out-folder/*"}"#,
        Err("the path `out-folder` is refused: the link `out-folder` leads out of the project"),
    ),
    (
        "glob",
        r#"{"pattern": "out-folder/**/*.txt"}"#,
        Err("the path `out-folder` is refused: the link `out-folder` leads out of the project"),
    ),
    (
        "glob",
        r#"{"pattern": "etc/*"}"#,
        Err("the path `etc` is refused: the link `etc` leads out of the project"),
    ),
    (
        "glob",
        r#"{"pattern": ".ai/config/keys/signing/*"}"#,
        Err(
            "the path `.ai/config/keys/signing` is refused: `.ai/config/keys/signing` holds private keys, which tools neither read nor write",
        ),
    ),
    (
        "glob",
        r#"{"pattern": "keys/signing/*"}"#,
        Err(
            "the path `keys/signing` is refused: `.ai/config/keys/signing` holds private keys, which tools neither read nor write",
        ),
    ),
    ("glob", r#"{"pattern": "out-f*/*", "hidden": true}"#, Ok(0)),
    ("ls", r#"{"first_lines": true, "hidden": true, "ignored": true}"#, Ok(27)),
    ("ls", r#"{"path": "keys", "first_lines": true}"#, Ok(2)),
    ("ls", r#"{"path": ".ai/config/keys", "first_lines": true, "hidden": true}"#, Ok(2)),
];
