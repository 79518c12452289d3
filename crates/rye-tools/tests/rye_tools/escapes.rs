//! Attempts to get out of the project, or at what is kept inside of it. Each must leave everything as it was.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use proptest::prelude::*;
use rye_tools::fs::{Error, FirstLines, Lines, ls, read, write};

use crate::project::Project;

/// A project full of traps.
fn trapped() -> Project {
    let project = Project::new();
    project.file("outside/secret.txt", "OUTSIDE");
    project.file("project/notes/a.md", "# A\n");
    project.file("project/notes/inner/b.md", "# B\n");
    project.file("project/.ai/config/keys/signing/private_key.pem", "PRIVATE");
    project.file("project/.ai/config/keys/trusted/k.toml", "owner");
    project.file("project/.ai/threads/t/transcript.jsonl", "{}\n");
    let at = |path: &str| project.outer().join("project").join(path);
    for (link, target) in [
        ("out-folder", "../outside"),
        ("out-file", "../outside/secret.txt"),
        ("out-new", "../outside/new.txt"),
        ("up", ".."),
        ("round-trip", "../project/notes"),
        ("hop", "out-folder/secret.txt"),
        ("notes/inner/climb", "../../../outside/secret.txt"),
        ("notes/zigzag", "inner/../../../outside/secret.txt"),
        ("loop", "loop"),
        ("ping", "pong"),
        ("pong", "ping"),
        ("etc", "/etc"),
        ("device", "/dev/null"),
        ("process", "/proc/self"),
        ("keys", ".ai/config/keys"),
        ("key", ".ai/config/keys/signing/private_key.pem"),
        ("threads", ".ai/threads"),
        ("ai", ".ai"),
        ("new-thread", ".ai/threads/new.md"),
        ("notes/sneak", "../.ai/threads/t"),
    ] {
        symlink(target, at(link)).unwrap();
    }
    symlink(at("notes"), at("absolute-inside")).unwrap();
    fs::hard_link(at(".ai/config/keys/signing/private_key.pem"), at("copy.pem")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    drop(UnixListener::bind(at("socket")).unwrap());
    project
}

#[derive(Clone, Copy)]
enum Attempt {
    Read,
    Write,
    List,
}

#[track_caller]
fn check(attempt: Attempt, path: &str, expected: &str) {
    let project = trapped();
    let before = project.everything();
    let root = &project.root;
    let error: Error = match attempt {
        Attempt::Read => read(root, path, Lines::all()).unwrap_err(),
        Attempt::Write => write(root, path, "OVERWRITTEN").unwrap_err(),
        Attempt::List => ls(root, path, FirstLines::Read).unwrap_err(),
    };
    assert_eq!(error.to_string(), expected);
    assert!(error.is_refusal(), "{error:?} is a refusal");
    assert_eq!(project.changes_since(&before), Vec::<String>::new());
}

macro_rules! refused {
    ($($name:ident: $attempt:ident $path:expr => $message:expr;)*) => {$(
        #[test]
        fn $name() {
            check(Attempt::$attempt, $path, $message);
        }
    )*};
}

const PARENT: &str = "it has a `..` part; give it from the project folder downward";
const ABSOLUTE: &str = "it is absolute; give it relative to the project folder";
const KEYS: &str = "`.ai/config/keys` decides who is trusted, so tools do not write there";
const SIGNING: &str =
    "`.ai/config/keys/signing` holds private keys, which tools neither read nor write";
const THREADS: &str = "`.ai/threads` is the record of what was done, so tools do not write there";
const SPECIAL: &str = "it is neither a regular file nor a folder";

fn out(path: &str, why: &str) -> String {
    format!("the path `{path}` is refused: {why}")
}

fn link(path: &str, link: &str) -> String {
    out(path, &format!("the link `{link}` leads out of the project"))
}

refused! {
    // By the text of the path.
    parent_read: Read "../outside/secret.txt" => &out("../outside/secret.txt", PARENT);
    parent_write: Write "../outside/secret.txt" => &out("../outside/secret.txt", PARENT);
    parent_list: List ".." => &out("..", PARENT);
    parent_in_the_middle: Read "notes/../../outside/secret.txt" => &out("notes/../../outside/secret.txt", PARENT);
    parent_that_stays_inside: Read "notes/../notes/a.md" => &out("notes/../notes/a.md", PARENT);
    parent_at_the_end: List "notes/.." => &out("notes/..", PARENT);
    parent_after_a_link: Read "threads/../../outside" => &out("threads/../../outside", PARENT);
    parent_with_a_space: Write ".. /outside/x" => &out(".. /outside/x", PARENT);
    absolute_read: Read "/etc/hostname" => &out("/etc/hostname", ABSOLUTE);
    absolute_write: Write "/tmp/rye-escape" => &out("/tmp/rye-escape", ABSOLUTE);
    absolute_list: List "/" => &out("/", ABSOLUTE);
    absolute_doubled: Read "//etc/hostname" => &out("//etc/hostname", ABSOLUTE);
    windows_drive: Write "C:/x" => &out("C:/x", "it starts with a drive; give it relative to the project folder");
    windows_parent: Read "..\\outside\\secret.txt" =>
        &out("..\\outside\\secret.txt", "it has a backslash; separate folders with `/`");
    url: Read "file:///etc/hostname" => &out("file:///etc/hostname", "it is a URL; give a path below the project folder");
    home: Write "~/x" => &out("~/x", "`~` is not expanded; give it relative to the project folder");
    nul: Read "notes/a.md\0.txt" => &out("notes/a.md\\u{0}.txt", "it has a control character");
    line_end: Write "a\nb" => &out("a\\nb", "it has a control character");
    empty: Read "" => &out("", "it is empty; give a path below the project folder, or `.` for the folder itself");

    // Through links.
    link_folder_read: Read "out-folder/secret.txt" => &link("out-folder/secret.txt", "out-folder");
    link_folder_write: Write "out-folder/new.txt" => &link("out-folder/new.txt", "out-folder");
    link_folder_list: List "out-folder" => &link("out-folder", "out-folder");
    link_folder_new_parents: Write "out-folder/a/b/c.txt" => &link("out-folder/a/b/c.txt", "out-folder");
    link_file_read: Read "out-file" => &link("out-file", "out-file");
    link_file_write: Write "out-file" => &link("out-file", "out-file");
    link_to_nothing_outside: Write "out-new" => &link("out-new", "out-new");
    link_up: List "up" => &link("up", "up");
    link_up_and_back: Read "up/project/notes/a.md" => &link("up/project/notes/a.md", "up");
    link_out_and_back: Read "round-trip/a.md" => &link("round-trip/a.md", "round-trip");
    link_to_a_link: Read "hop" => &link("hop", "out-folder");
    link_deep: Read "notes/inner/climb" => &link("notes/inner/climb", "notes/inner/climb");
    link_zigzag: Write "notes/zigzag" => &link("notes/zigzag", "notes/zigzag");
    link_absolute: List "etc" => &link("etc", "etc");
    link_absolute_child: Read "etc/hostname" => &link("etc/hostname", "etc");
    link_absolute_inside: Read "absolute-inside/a.md" => &link("absolute-inside/a.md", "absolute-inside");
    link_device: Write "device" => &link("device", "device");
    link_process: Read "process/environ" => &link("process/environ", "process");
    link_process_root: Read "process/root/etc/hostname" => &link("process/root/etc/hostname", "process");
    link_loop: Read "loop" => &out("loop", "it goes through more than 40 links");
    link_loop_of_two: Write "ping/x" => &out("ping/x", "it goes through more than 40 links");

    // What is no regular file.
    fifo_read: Read "pipe" => &out("pipe", SPECIAL);
    fifo_write: Write "pipe" => &out("pipe", SPECIAL);
    fifo_list: List "pipe" => &out("pipe", SPECIAL);
    socket_read: Read "socket" => &out("socket", SPECIAL);
    socket_write: Write "socket" => &out("socket", SPECIAL);

    // Keys and threads.
    keys_write: Write ".ai/config/keys/trusted/mine.toml" => &out(".ai/config/keys/trusted/mine.toml", KEYS);
    keys_overwrite: Write ".ai/config/keys/trusted/k.toml" => &out(".ai/config/keys/trusted/k.toml", KEYS);
    keys_through_a_link: Write "keys/trusted/k.toml" => &out("keys/trusted/k.toml", KEYS);
    keys_through_two_links: Write "ai/config/keys/trusted/k.toml" => &out("ai/config/keys/trusted/k.toml", KEYS);
    keys_in_capitals: Write ".AI/Config/KEYS/x" => &out(".AI/Config/KEYS/x", KEYS);
    keys_with_a_dot: Write ".ai/config/keys./x" => &out(".ai/config/keys./x", KEYS);
    keys_with_an_odd_letter: Write ".ai/config/\u{212a}eys/x" => &out(".ai/config/\u{212a}eys/x", KEYS);
    keys_with_an_invisible_letter: Write ".ai/config/ke\u{200b}ys/x" => &out(".ai/config/ke\u{200b}ys/x", KEYS);
    keys_nested: Write "sub/.ai/config/keys/trusted/k.toml" => &out("sub/.ai/config/keys/trusted/k.toml", KEYS);
    signing_read: Read ".ai/config/keys/signing/private_key.pem" =>
        &out(".ai/config/keys/signing/private_key.pem", SIGNING);
    signing_list: List ".ai/config/keys/signing" => &out(".ai/config/keys/signing", SIGNING);
    signing_write: Write ".ai/config/keys/signing/private_key.pem" =>
        &out(".ai/config/keys/signing/private_key.pem", KEYS);
    signing_through_a_folder_link: Read "keys/signing/private_key.pem" => &out("keys/signing/private_key.pem", SIGNING);
    signing_through_a_file_link: Read "key" => &out("key", SIGNING);
    signing_under_a_second_name: Read "copy.pem" => &out("copy.pem", SIGNING);
    signing_in_capitals: Read ".ai/config/keys/SIGNING/private_key.pem" =>
        &out(".ai/config/keys/SIGNING/private_key.pem", SIGNING);
    threads_write: Write ".ai/threads/t/transcript.jsonl" => &out(".ai/threads/t/transcript.jsonl", THREADS);
    threads_new: Write ".ai/threads/new/thread.json" => &out(".ai/threads/new/thread.json", THREADS);
    threads_itself: Write ".ai/threads" => &out(".ai/threads", THREADS);
    threads_through_a_link: Write "threads/registry.db" => &out("threads/registry.db", THREADS);
    threads_through_a_link_to_nothing: Write "new-thread" => &out("new-thread", THREADS);
    threads_through_a_deep_link: Write "notes/sneak/transcript.jsonl" => &out("notes/sneak/transcript.jsonl", THREADS);
    threads_as_a_stream: Write ".ai/threads::$DATA/x" => &out(".ai/threads::$DATA/x", THREADS);
}

/// The folder is elsewhere in the project and `.ai/threads` is a link to it: its real name is closed too.
#[test]
fn threads_that_were_moved_are_closed_by_identity() {
    let project = Project::new();
    project.file("project/state/threads-of-rye/t/transcript.jsonl", "{}\n");
    project.file("project/.ai/directives/d.md", "");
    symlink("../state/threads-of-rye", project.outer().join("project/.ai/threads")).unwrap();
    let before = project.everything();
    let path = "state/threads-of-rye/t/transcript.jsonl";
    assert_eq!(write(&project.root, path, "x").unwrap_err().to_string(), out(path, THREADS));
    assert_eq!(project.changes_since(&before), Vec::<String>::new());
}

/// A listing with first lines names what is there and shows nothing of what may not be read.
#[test]
fn a_listing_shows_no_secret_and_waits_for_nobody() {
    let project = trapped();
    let listing = ls(&project.root, ".", FirstLines::Read).unwrap().listing();
    assert!(listing.lines().any(|line| line == "- copy.pem"), "{listing}");
    assert!(listing.lines().any(|line| line == "- out-file"), "{listing}");
    assert!(listing.lines().any(|line| line == "- pipe"), "{listing}");
    let keys = ls(&project.root, ".ai/config/keys", FirstLines::Read).unwrap().listing();
    assert_eq!(keys, "- signing\n- trusted");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is asked, nothing outside and nothing kept changes, and no secret is read.
    #[test]
    fn no_path_gets_out(parts in prop::collection::vec(part(), 1..6), separator in "[/]{1,2}") {
        let project = trapped();
        let before = project.everything();
        let path = parts.join(&separator);
        if let Ok(text) = read(&project.root, &path, Lines::all()) {
            prop_assert!(!["OUTSIDE", "PRIVATE"].contains(&text.content.as_str()), "{}", path);
        }
        let _ = write(&project.root, &path, "x");
        let changes = project.changes_since(&before);
        let allowed = |path: &String| {
            let kept = [".ai/threads", ".ai/config/keys"].iter().any(|kept| path.contains(kept));
            path.starts_with("project/") && !kept
        };
        prop_assert!(changes.iter().all(allowed), "{} changed {:?}", path, changes);
    }
}

fn part() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "..",
        ".",
        "",
        "notes",
        "inner",
        "climb",
        "zigzag",
        "sneak",
        "a.md",
        "new",
        "out-folder",
        "out-file",
        "out-new",
        "up",
        "round-trip",
        "hop",
        "etc",
        "process",
        "keys",
        "key",
        "threads",
        "ai",
        ".ai",
        "config",
        "signing",
        "trusted",
        "t",
        "private_key.pem",
        "k.toml",
        "transcript.jsonl",
        "secret.txt",
        "outside",
        "project",
        "copy.pem",
        "new-thread",
        "absolute-inside",
        "loop",
        ".AI",
        "Threads",
        "KEYS",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}
