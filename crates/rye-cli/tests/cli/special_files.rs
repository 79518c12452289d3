//! Files that are no plain files in the places of all that `rye` opens: each command ends, and says what is wrong.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::session::Session;
use crate::sweep::sweep;

/// The longest time of a command. A slow machine needs a part of it.
const LONGEST: Duration = Duration::from_secs(30);

const KEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/keys/example-signing-key.pem");

/// Runs `rye` and returns all that it printed. Fails if it has not ended in time.
#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn rye(session: &Session, arguments: &[&str]) -> String {
    let child = Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(["--trust", &session.trust()])
        .args(arguments)
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let process = rustix::process::Pid::from_child(&child);
    let (send, ended) = mpsc::channel();
    std::thread::spawn(move || send.send(read(child)));
    let Ok(told) = ended.recv_timeout(LONGEST) else {
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        panic!("`rye {}` does not end", arguments.join(" "));
    };
    told
}

fn read(mut child: Child) -> String {
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().code().is_some_and(|code| code < 100), "{told}");
    told
}

/// What makes a file at a path.
type Make = fn(&Path);

/// Files that are no plain files.
const SPECIAL: [(&str, Make); 8] = [
    ("a pipe", make_pipe),
    ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("a link to a device", |path| symlink("/dev/zero", path).unwrap()),
    // Opening a terminal may wait, or make it the terminal of the program.
    ("a link to a terminal", |path| symlink("/dev/ptmx", path).unwrap()),
    // A read takes the messages of the kernel, or waits for them.
    ("a link to messages", |path| symlink("/proc/kmsg", path).unwrap()),
    // A read gives 8 bytes for each page of the address space.
    ("a link to pages", |path| symlink("/proc/self/pagemap", path).unwrap()),
    ("a link to a file of the kernel", |path| symlink("/proc/self/status", path).unwrap()),
    ("a link to a folder of the kernel", |path| symlink("/proc/self", path).unwrap()),
];

fn make_pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

/// Files that `rye` opens, in the project or with `~` in the home folder.
const PLACES: [&str; 18] = [
    ".ai/directives/notes/index.md",
    ".ai/directives/x.md",
    ".ai/knowledge/notes/index-style.md",
    ".ai/tools/x.yaml",
    ".ai/tools/rye/agent/providers/x.yaml",
    ".ai/config/trust.yaml",
    ".ai/config/agent/hooks.yaml",
    ".ai/config/keys/revoked.toml",
    ".ai/config/keys/trusted/56dbf7b2d9ce86ed.toml",
    ".ai/rye.lock",
    ".ai/threads/registry.db",
    ".ai/threads/registry.db-wal",
    ".ai/threads/THREAD/transcript.jsonl",
    ".ai/threads/THREAD/thread.json",
    ".ai/threads/THREAD/lock",
    ".ai/threads/THREAD/owner",
    "~/.ai/config/trust.yaml",
    "~/.ai/config/keys/signing/private_key.pem",
];

/// Commands, in which `FILE` is the path of the file.
const COMMANDS: [&str; 22] = [
    "list",
    "check",
    "check --locked",
    "check FILE",
    "verify",
    "verify FILE",
    "render notes/index --input folder=notes",
    "explain notes/index",
    "diff notes/index notes/base",
    "lock",
    "run notes/index --provider steps --input folder=notes",
    "run notes/index --provider steps --input folder=@FILE",
    "threads list",
    "threads show THREAD",
    "threads verify",
    "threads reindex",
    "doctor",
    "search notes",
    "trust list",
    "trust revoke 0123456789abcdef --to project",
    "sign FILE --key KEY",
    "cancel THREAD",
];

#[test]
fn no_command_waits_for_a_special_file() {
    let session = Session::new();
    session.rye("keys generate");
    session.rye("run notes/index --trust TRUST --provider steps --input folder=notes");
    let thread = session.thread();
    let whole = session.save();
    let all = PLACES.iter().flat_map(|place| SPECIAL.map(|special| (*place, special)));
    let all = all.flat_map(|(place, special)| COMMANDS.map(|command| (place, special, command)));
    // Each file is tried in each place with some commands, and with each command in some places.
    for (place, (_, make), command) in sweep(all.step_by(5), 1, 16) {
        session.restore(&whole);
        let path = match place.strip_prefix("~/") {
            Some(path) => session.home().join(path),
            None => session.project().join(place.replace("THREAD", &thread)),
        };
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).unwrap();
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        make(&path);
        let file = path.display().to_string();
        let words = command.split(' ').map(|word| match word {
            "FILE" => file.clone(),
            "THREAD" => thread.clone(),
            "KEY" => KEY.to_owned(),
            word => word.replace("@FILE", &format!("@{file}")),
        });
        let words: Vec<String> = words.collect();
        rye(&session, &words.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// A program that opened the pipe for writing, and writes nothing, is not waited for.
#[test]
fn the_operators_key_is_no_pipe() {
    let session = Session::new();
    session.rye("keys generate");
    let path = session.home().join(".ai/config/keys/signing/private_key.pem");
    fs::remove_file(&path).unwrap();
    make_pipe(&path);
    let _writer = File::options().read(true).write(true).open(&path).unwrap();
    for command in ["run notes/index --provider steps", "sign .ai/directives/notes/base.md"] {
        let told = rye(&session, &command.split(' ').collect::<Vec<_>>());
        assert!(told.contains("it is not a plain file"), "{command}: {told}");
    }
}

/// A file of the kernel is refused before the first byte is read, wherever links are followed.
#[test]
fn a_file_of_the_kernel_is_no_item_and_no_record() {
    let refused = "it is a file of the kernel (proc); put a plain file in its place";
    for (place, command) in [
        (".ai/config/agent/hooks.yaml", "trust policy --accept"),
        (".ai/rye.lock", "check --locked"),
        ("inputs.txt", "run notes/index --provider steps --input folder=@inputs.txt"),
        ("trust.toml", "list --trust trust.toml"),
        ("x.md", "verify x.md"),
        ("x.md", "check x.md"),
    ] {
        let session = Session::new();
        session.rye("run notes/index --trust TRUST --provider steps --input folder=notes");
        let path = session.project().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink("/proc/self/status", &path).unwrap();
        let told = rye(&session, &command.split(' ').collect::<Vec<_>>());
        assert!(told.contains(refused), "{command}: {told}");
    }
}

/// A list of threads is written anew without what is no plain file, and says so.
#[test]
fn a_transcript_that_is_none_is_left_out_of_the_list_by_name() {
    for (_, make) in SPECIAL {
        let session = Session::new();
        session.rye("run notes/index --trust TRUST --provider steps --input folder=notes");
        let thread = session.thread();
        let path = session.project().join(".ai/threads").join(&thread).join("transcript.jsonl");
        fs::remove_file(&path).unwrap();
        make(&path);
        let told = rye(&session, &["threads", "reindex"]);
        assert!(told.contains(&format!("thread {thread} is left out")), "{told}");
    }
}

/// Another program swaps items with pipes, again and again. A look before the opening would say nothing about what is opened. So few
/// items are swapped often enough that a program with such a look waited in most runs of this test.
#[test]
fn no_command_waits_for_a_pipe_that_is_swapped_with_an_item() {
    let session = Session::new();
    let folder = session.project().join(".ai/directives/notes");
    let text = fs::read_to_string(folder.join("index.md")).unwrap();
    let pairs: Vec<_> = (0..3)
        .map(|number| {
            (folder.join(format!("x{number}.md")), folder.join(format!("x{number}.pipe")))
        })
        .collect();
    for (item, pipe) in &pairs {
        fs::write(item, &text).unwrap();
        make_pipe(pipe);
    }
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Bounded for a test that fails.
            for (item, pipe) in pairs.iter().cycle().take(100_000_000) {
                if has_ended.load(Ordering::Relaxed) {
                    break;
                }
                renameat_with(CWD, item, CWD, pipe, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _ended = Ends(&has_ended);
        for _ in 0..10 {
            for arguments in [
                &["list"][..],
                &["check"],
                &["verify"],
                &["search", "notes"],
                &["lock"],
                &["render", "notes/x1", "--input", "folder=notes"],
            ] {
                rye(&session, arguments);
            }
        }
    });
}

/// Ends the swaps, also if the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
