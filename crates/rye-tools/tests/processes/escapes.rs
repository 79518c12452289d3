//! Attempts to get out. Each says what it comes to in each sandbox: kept, or open, which the report has to name as a gap.

mod files;
pub(crate) mod grounds;
mod kernel;

use std::fs;
use std::path::PathBuf;

use rye_types::SandboxMode;

use self::files::{HOME, OUTSIDE};
use crate::arena::{Arena, CANARY, SECRETS, exists, shell};
use crate::sweep::sweep;

/// What an attempt comes to, by the letter of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    Kept,
    Open,
}

/// Name; what it comes to in bubblewrap, namespaces, landlock and none; what is run, which prints `OUT` when it got out.
///
/// The letters are `k`ept, `o`pen, and `-` for one that is not tried, because it would harm the machine that runs the tests, or
/// depends on it. `c` in the last place is a control: without a sandbox it gets out where the machine and the user can do it.
type Row = (&'static str, &'static str, &'static str);

const NETWORK: &[Row] = &[
    ("tcp to this machine", "kkko", "(echo x > /dev/tcp/127.0.0.1/$PORT) 2>/dev/null && echo OUT"),
    ("udp", "kkko", "(echo x > /dev/udp/127.0.0.1/$PORT) 2>/dev/null && echo OUT"),
    ("a socket of IPv4", "kkko", "perl -e 'print \"OUT\" if socket(S, 2, 2, 0)'"),
    ("a socket of IPv6", "kkko", "perl -e 'print \"OUT\" if socket(S, 10, 1, 0)'"),
    ("a netlink socket", "kkko", "perl -e 'print \"OUT\" if socket(S, 16, 3, 0)'"),
    ("a packet socket", "kkkc", "perl -e 'print \"OUT\" if socket(S, 17, 3, 0)'"),
    ("a vsock", "kkk-", "perl -e 'print \"OUT\" if socket(S, 40, 1, 0)'"),
    (
        "a service by its path",
        "kkko",
        "perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0) and connect(S, sockaddr_un($ARGV[0]))' $OUTSIDE/service.sock",
    ),
    (
        "a service by an abstract name",
        "kkk-",
        "perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0)'",
    ),
    (
        "sockets past the filter",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(425, 1, my $p = \"\\0\" x 120) >= 0'",
    ),
];

const READING: &[Row] = &[
    ("a key", "kkko", "grep -q CANARY $KEY && echo OUT"),
    ("a password", "kkko", "grep -q CANARY $HOMEDIR/.netrc && echo OUT"),
    ("a key through a link of the project", "kkko", "grep -q CANARY key && echo OUT"),
    ("a key through a second name", "kkko", "ln $KEY name && grep -q CANARY name && echo OUT"),
    ("a key moved into the project", "kkko", "cp $KEY copy && grep -q CANARY copy && echo OUT"),
    (
        "the project's signing key",
        "kkko",
        "grep -q CANARY .ai/config/keys/signing/private_key.pem && echo OUT",
    ),
    ("a key through the own root", "kkko", "grep -q CANARY /proc/self/root$KEY && echo OUT"),
    (
        "a key through the root of another",
        "kkko",
        "cat /proc/[0-9]*/root$KEY 2>/dev/null | grep -q CANARY && echo OUT",
    ),
    (
        "a key through the folder of another",
        "kkk-",
        "cat /proc/[0-9]*/cwd/../home/.netrc 2>/dev/null | grep -q CANARY && echo OUT",
    ),
    ("the own environment", "kkkk", "env | grep -q CANARY && echo OUT"),
    (
        "the environment of all",
        "kkko",
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q '^RYE_TEST_KEY=CANARY' && echo OUT",
    ),
    (
        "the memory of the caller",
        "kkk-",
        "head -c1 /proc/$CALLER/mem 2>/dev/null && echo OUT; readlink /proc/$CALLER/fd/0 >/dev/null 2>&1 && echo OUT",
    ),
    (
        "a disk",
        "kkk-",
        "for d in /dev/*; do [ -b $d ] && head -c1 $d >/dev/null 2>&1 && echo OUT; done",
    ),
    (
        "a disk of its own making",
        "kkk-",
        "mknod disk b 254 0 2>/dev/null && head -c1 disk >/dev/null 2>&1 && echo OUT",
    ),
    (
        "the memory of the machine",
        "kkk-",
        "for d in mem kmem port kmsg; do head -c1 /dev/$d >/dev/null 2>&1 && echo OUT; done",
    ),
    ("files by number", "kkkc", "perl -e 'syscall(304, 0, 0, 0); print \"OUT\" unless $!{EPERM}'"),
    ("the kernel's keys", "kkkc", "perl -e 'print \"OUT\" if syscall(250, 0, -3, 0) >= 0'"),
    (
        "the memory of its own kind",
        "kkkc",
        "perl -e 'syscall(310, $$, 0, 0, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "what the caller has open",
        "kkkk",
        "for f in /proc/self/fd/*; do case $(readlink $f) in *secret.txt) echo OUT;; esac; done",
    ),
    ("what the caller reads", "kkkk", "read -r line && echo OUT"),
];

const WRITING: &[Row] = &[
    ("a new file", "kkko", "(echo x > $OUTSIDE/new) 2>/dev/null && echo OUT; rm -f $OUTSIDE/new"),
    ("over a file", "kkko", "(printf outside > $OUTSIDE/secret.txt) 2>/dev/null && echo OUT"),
    ("a file longer", "kkko", "(printf '' >> $OUTSIDE/secret.txt) 2>/dev/null && echo OUT"),
    ("a file away", "kkk-", "rm -f $OUTSIDE/secret.txt 2>/dev/null && echo OUT"),
    ("a file elsewhere", "kkk-", "mv $OUTSIDE/secret.txt $OUTSIDE/s2 2>/dev/null && echo OUT"),
    ("a file into the project", "kkk-", "mv $OUTSIDE/secret.txt here 2>/dev/null && echo OUT"),
    (
        "a new folder",
        "kkko",
        "mkdir $OUTSIDE/d 2>/dev/null && echo OUT; rmdir $OUTSIDE/d 2>/dev/null",
    ),
    ("a mode", "kko-", "chmod 600 $OUTSIDE/secret.txt 2>/dev/null && echo OUT"),
    ("a time", "kko-", "touch -c $OUTSIDE/secret.txt 2>/dev/null && echo OUT"),
    ("a file shorter", "kkk-", "truncate -s 0 $OUTSIDE/secret.txt 2>/dev/null && echo OUT"),
    (
        "through a link of the project",
        "kkko",
        "(echo x > out/new) 2>/dev/null && echo OUT; rm -f out/new",
    ),
    (
        "from a folder behind a link",
        "kkko",
        "cd out 2>/dev/null && (echo x > new) 2>/dev/null && echo OUT; rm -f new",
    ),
    (
        "through a second name",
        "kkk-",
        "ln $OUTSIDE/secret.txt name 2>/dev/null && (echo x > name) 2>/dev/null && echo OUT",
    ),
    (
        "through the own root",
        "kkko",
        "(echo x > /proc/self/root$OUTSIDE/new) 2>/dev/null && echo OUT; rm -f $OUTSIDE/new",
    ),
    ("above the project", "kkko", "(echo x > ../new) 2>/dev/null && echo OUT; rm -f ../new"),
    ("beside the temporary files", "kkko", "(echo x > $TMPDIR/../new) 2>/dev/null && echo OUT"),
    (
        "temporary files elsewhere",
        "kkko",
        "f=$(TMPDIR=$OUTSIDE mktemp 2>/dev/null) && echo OUT && rm $f",
    ),
    (
        "the machine's settings",
        "kkk-",
        "p=$(cat /proc/sys/kernel/core_pattern); (echo \"$p\" > /proc/sys/kernel/core_pattern) 2>/dev/null && echo OUT",
    ),
    ("the machine's name", "kkk-", "hostname escaped 2>/dev/null && echo OUT"),
    (
        "a record",
        "kko-",
        "(echo x > .ai/threads/t/new) 2>/dev/null && echo OUT; rm -f .ai/threads/t/new",
    ),
    ("what was accepted", "kko-", "(echo >> .ai/rye.lock) 2>/dev/null && echo OUT"),
    (
        "a signature of a plain file",
        "kko-",
        "(echo >> .ai/signed/AGENTS.md.sig) 2>/dev/null && echo OUT; (echo x > .ai/signed/new.sig) 2>/dev/null && echo OUT; rm -f .ai/signed/new.sig",
    ),
    (
        "a trusted key",
        "kko-",
        "(echo x > .ai/config/keys/trusted/new.toml) 2>/dev/null && echo OUT; rm -f .ai/config/keys/trusted/new.toml",
    ),
    (
        "the records elsewhere",
        "kkk-",
        "mv .ai/threads .ai/t2 2>/dev/null && echo OUT && mv .ai/t2 .ai/threads",
    ),
    ("all of `.ai` elsewhere", "kkk-", "mv .ai ai2 2>/dev/null && echo OUT && mv ai2 .ai"),
    (
        "all of `config` elsewhere",
        "kkk-",
        "mv .ai/config .ai/c2 2>/dev/null && echo OUT && mv .ai/c2 .ai/config",
    ),
    (
        "a hook of git",
        "kko-",
        "(echo id > .git/hooks/pre-commit) 2>/dev/null && echo OUT; rm -f .git/hooks/pre-commit",
    ),
    (
        "git's configuration",
        "kkk-",
        "[ $MODE = landlock ] || { (echo >> .git/config) 2>/dev/null && echo OUT; }",
    ),
    (
        "git's folder of another place",
        "kkk-",
        "[ $MODE = landlock ] || { (echo ../evil > .git/commondir) 2>/dev/null && echo OUT; }",
    ),
    (
        "a file in the place of git's folder",
        "kkk-",
        "rm -rf .git 2>/dev/null; [ $MODE = landlock ] || { (echo 'gitdir: evil' > .git) 2>/dev/null && echo OUT; }",
    ),
    ("git's folder elsewhere", "kkk-", "mv .git git2 2>/dev/null && echo OUT && mv git2 .git"),
    (
        "the records away",
        "kkk-",
        "rm -rf .ai/threads/t/transcript.jsonl 2>/dev/null; rm -r .ai/threads 2>/dev/null && echo OUT",
    ),
];

const PROCESSES: &[Row] = &[
    ("a namespace of users", "kkkc", "perl -e 'print \"OUT\" if syscall(272, 0x10000000) == 0'"),
    ("a namespace of mounts", "kkkc", "perl -e 'print \"OUT\" if syscall(272, 0x20000) == 0'"),
    (
        "a process in a new namespace",
        "kkkc",
        "perl -e '$p = syscall(56, 0x10000011, 0, 0, 0, 0); exit if $p == 0; print \"OUT\" if $p > 0'",
    ),
    (
        "the same by the newer call",
        "kkkc",
        "perl -e 'syscall(435, 0, 0); print \"OUT\" unless $!{ENOSYS}'",
    ),
    (
        "the namespace of another",
        "kkkc",
        "perl -e 'open(F, \"<\", \"/proc/self/ns/net\"); syscall(308, fileno(F), 0); print \"OUT\" unless $!{EPERM}'",
    ),
    ("a mount", "kkk-", "mount -t tmpfs none src 2>/dev/null && echo OUT"),
    ("a mount writable again", "kkk-", "mount -o remount,rw,bind / 2>/dev/null && echo OUT"),
    (
        "a mount away",
        "kkk-",
        "umount -l .ai/threads 2>/dev/null && echo OUT; umount -l $HOMEDIR/.ssh 2>/dev/null && echo OUT",
    ),
    (
        "a mount by the newer calls",
        "kkkc",
        "perl -e 'syscall(428, -100, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    ("another root", "kkk-", "chroot . /bin/true 2>/dev/null && echo OUT"),
    ("the caller", "kkko", "kill -0 $CALLER 2>/dev/null && echo OUT"),
    ("the process above", "kkk-", "kill -9 $PPID 2>/dev/null; [ -e /proc/$PPID ] || echo OUT"),
    ("a debugger", "kkkc", "perl -e 'print \"OUT\" if syscall(101, 0, 0, 0, 0) == 0'"),
    (
        "a program of the kernel",
        "kkkc",
        "perl -e 'syscall(321, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "typing into the terminal",
        "kkkc",
        "perl -e 'ioctl(STDIN, 0x5412, \"x\"); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "more powers",
        "kkk-",
        "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo OUT; grep -q 'CapBnd:.*[1-9a-f]' /proc/self/status && [ $(id -u) = 0 ] && echo OUT; grep -q 'NoNewPrivs:.*1' /proc/self/status || echo OUT",
    ),
    ("a file without end", "kkkk", "truncate -s 5G big 2>/dev/null && echo OUT"),
    ("its memory on disk", "kkkk", "[ $(ulimit -c) = 0 ] || echo OUT"),
    (
        "the calls of the other interface",
        "kkk-",
        "perl -e 'syscall(0x40000000 + 272, 0x10000000); print \"OUT\" unless $!{EPERM} or $!{ENOSYS}'",
    ),
];

/// The same where a project has nothing yet of what is kept as it is, each in a project of its own.
const MAKING: &[Row] = &[
    ("a lock", "kko-", "(echo x > .ai/rye.lock) 2>/dev/null && echo OUT"),
    ("the folder of signatures", "kko-", "mkdir .ai/signed 2>/dev/null && echo OUT"),
    (
        "a lock from elsewhere",
        "kko-",
        "echo x > new && mv new .ai/rye.lock 2>/dev/null && echo OUT",
    ),
    ("a lock by a link", "kko-", "ln -s ../src .ai/rye.lock 2>/dev/null && echo OUT"),
    ("the folder of records", "kko-", "mkdir .ai/threads 2>/dev/null && echo OUT"),
    ("the folder of keys", "kko-", "mkdir -p .ai/config/keys/trusted 2>/dev/null && echo OUT"),
    (
        "the folder of configuration elsewhere",
        "kko-",
        "mv .ai/config .ai/c2 2>/dev/null && echo OUT",
    ),
    ("what is configured", "kko-", "(echo x > .ai/config/trust.yaml) 2>/dev/null && echo OUT"),
    ("git's folder", "kko-", "mkdir -p .git/hooks; echo id > .git/hooks/pre-commit"),
    ("git's folder by a link", "kko-", "ln -s src .git"),
    ("git's folder from elsewhere", "kko-", "mkdir git2 && mv -T git2 .git"),
    ("a file in the place of git's folder", "kko-", "echo 'gitdir: evil' > .git"),
    ("git's folder in a folder closed again", "kko-", "mkdir .git && chmod 0 .git && chmod 555 ."),
    (
        "a provider",
        "kko-",
        "mkdir -p .ai/tools/rye/agent/providers && echo x > .ai/tools/rye/agent/providers/p.yaml",
    ),
    ("git's folder away", "kk--", "rmdir .git 2>/dev/null && echo OUT"),
    ("an item", "oooo", "(echo x > .ai/tools/new.yaml) 2>/dev/null && echo OUT"),
    (
        "a configuration of tools",
        "kkoo",
        "(echo x > .ai/config/agent/new.yaml) 2>/dev/null && echo OUT",
    ),
];

/// What is not there afterwards where an attempt was kept.
const MADE: &[&str] = &[
    ".git",
    ".ai/rye.lock",
    ".ai/signed",
    ".ai/threads",
    ".ai/config/keys",
    ".ai/tools/rye/agent/providers",
];

/// The fewest attempts that are made in a sandbox where all programs are there that they need.
const FEWEST: usize = 200;

/// One of so many attempts is made in a sandbox, unless the sweep is whole.
const PART: usize = 8;

/// The programs that attempts need.
const PROGRAMS: [&str; 12] = [
    "chattr",
    "chroot",
    "dd",
    "fallocate",
    "flock",
    "hostname",
    "losetup",
    "mount",
    "nsenter",
    "perl",
    "umount",
    "unshare",
];

/// The fewest controls that get out where there is no sandbox, whatever the user and the machine may do.
const FEWEST_CONTROLS: usize = 10;

/// Makes every attempt in one sandbox, and tells of those that this machine has no means for.
#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
pub(crate) fn check(mode: SandboxMode) {
    let arena = Arena::new();
    if arena.in_mode(mode).is_none() {
        return;
    }
    let index = SandboxMode::ALL.iter().position(|other| *other == mode).unwrap();
    let shared = Shared::new(&arena);
    let missing = missing(&arena, shared.is_some());
    let wanted = |row: &&Attempt| {
        !matches!(row.1.as_bytes()[index], b'-' | b'c')
            && !missing.iter().any(|word| needs(row, word))
    };
    let (all, making) = (attempts(), making());
    let attempts: Vec<_> = all.iter().filter(wanted).collect();
    let making: Vec<_> = making.iter().filter(wanted).collect();
    let n = attempts.len() + making.len();
    println!("{n} attempts for the sandbox `{mode}`");
    assert!(
        mode == SandboxMode::None || !missing.is_empty() || n >= FEWEST,
        "{mode}: {n} attempts"
    );
    let names = shared.as_ref().map(|shared| shared.ids.as_str()).unwrap_or_default();
    // Each sandbox and each user begins with another attempt.
    let first = (index + PART / 2 * usize::from(rustix::process::geteuid().is_root())) % PART;
    let (making, attempts) = (sweep(making, first % 2, 2), sweep(attempts, first, PART));
    let mut wrong = check_making(mode, index, &making);
    wrong.extend(check_attempts(&arena, mode, index, (names, &attempts)));
    assert_eq!(wrong, Vec::<String>::new());
    if mode == SandboxMode::None {
        check_controls(&arena, &all, &missing);
    }
}

/// Returns `true` if an attempt is made by this word of its line.
fn needs((_, _, line): &Attempt, word: &str) -> bool {
    let is_part = |letter: char| !(letter.is_alphanumeric() || "-_$/".contains(letter));
    match word {
        NUMBERS | IPC => line.contains(word),
        word => line.split(is_part).any(|part| part == word),
    }
}

/// Calls by their numbers, which are those of x86-64.
const NUMBERS: &str = "syscall(";

/// What is shared by this name outside of the sandbox.
const IPC: &str = "$IPC";

/// What attempts are made by that this machine does not have.
#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
fn missing(arena: &Arena, is_shared: bool) -> Vec<&'static str> {
    let places = arena.host().environment["PATH"].clone();
    let is_there = |program: &str| {
        std::env::split_paths(&places)
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .any(|place| place.join(program).exists())
    };
    let mut missing: Vec<&str> =
        PROGRAMS.into_iter().filter(|program| !is_there(program)).collect();
    if cfg!(not(target_arch = "x86_64")) {
        missing.push(NUMBERS);
    }
    if !is_shared {
        missing.push(IPC);
    }
    for word in &missing {
        println!("NOT TESTED HERE: attempts by `{word}`, which this machine does not have");
    }
    missing
}

/// Shows that attempts which harm nothing get out where there is no sandbox, so that a sandbox is what keeps them.
#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
fn check_controls(arena: &Arena, rows: &[Attempt], missing: &[&str]) {
    let processes = arena.in_mode(SandboxMode::None).unwrap();
    let controls = rows.iter().filter(|row| row.1.ends_with('c'));
    let controls: Vec<_> =
        controls.filter(|row| !missing.iter().any(|word| needs(row, word))).collect();
    let gets_out = |row: &&&Attempt| {
        let result = shell(&processes, &with_names(arena, SandboxMode::None, &row.2));
        let is_out = result.content.to_string().contains("OUT");
        if !is_out {
            println!("NOT SHOWN HERE: that `{}` gets out without a sandbox", row.0);
        }
        is_out
    };
    let n = controls.iter().filter(gets_out).count();
    println!("{n} of {} controls got out", controls.len());
    assert!(!missing.is_empty() || n >= FEWEST_CONTROLS, "{n} controls got out");
}

type Attempt = (String, &'static str, String);

fn owned(rows: &[Row]) -> Vec<Attempt> {
    rows.iter().map(|(name, expected, line)| ((*name).into(), *expected, (*line).into())).collect()
}

fn attempts() -> Vec<Attempt> {
    let rows = [
        NETWORK,
        READING,
        WRITING,
        PROCESSES,
        kernel::SOCKETS,
        kernel::SHARED,
        kernel::CALLS,
        HOME,
        OUTSIDE,
        files::KERNEL,
    ];
    let mut rows = owned(&rows.concat());
    rows.extend(SECRETS.map(|path| {
        let line = format!("grep -q CANARY $HOMEDIR/{path} && echo OUT");
        (format!("the secret in {path}"), "kkko", line)
    }));
    let mut names: Vec<&String> = rows.iter().map(|(name, ..)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), rows.len(), "each has a name of its own");
    rows
}

fn making() -> Vec<Attempt> {
    owned(MAKING)
}

fn check_attempts(
    arena: &Arena,
    mode: SandboxMode,
    index: usize,
    (names, rows): (&str, &[&Attempt]),
) -> Vec<String> {
    let processes = arena.in_mode(mode).unwrap();
    let mut wrong = Vec::new();
    for (name, expected, attempt) in rows {
        let expected = match expected.as_bytes()[index] {
            b'k' => Expected::Kept,
            _ => Expected::Open,
        };
        let before = arena.outside();
        let result = shell(&processes, &format!("{names}\n{}", with_names(arena, mode, attempt)));
        let result = result.content.to_string();
        let actual = match result.contains("OUT") {
            true => Expected::Open,
            false => Expected::Kept,
        };
        if actual != expected {
            wrong.push(format!("{mode}: {name}: {actual:?}, not {expected:?}: {result}"));
        }
        if expected == Expected::Kept && (arena.outside() != before || result.contains(CANARY)) {
            wrong.push(format!("{mode}: {name}: it left something behind: {result}"));
        }
    }
    assert!(exists(&arena.root.join("project/.ai/threads")), "{mode}");
    wrong
}

fn check_making(mode: SandboxMode, index: usize, rows: &[&Attempt]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, expected, attempt) in rows {
        let arena = Arena::bare();
        let processes = arena.in_mode(mode).unwrap();
        let is_open = expected.as_bytes()[index] == b'o';
        let result = shell(&processes, &with_names(&arena, mode, attempt)).content.to_string();
        let made = MADE.iter().find(|path| exists(&arena.root.join("project").join(path)));
        if (result.contains("OUT") || made.is_some()) != is_open {
            wrong.push(format!("{mode}: {name}: open: {}: {made:?} {result}", !is_open));
        }
    }
    wrong
}

/// What programs of the machine share by names, made outside of every sandbox and removed with this value.
pub(crate) struct Shared {
    path: PathBuf,
    /// Shell variables with the ids.
    ids: String,
}

impl Shared {
    /// Shares them; `None` where this machine or this user cannot.
    pub(crate) fn new(arena: &Arena) -> Option<Self> {
        let path = PathBuf::from(format!("/dev/shm/rye-{}", std::process::id()));
        let written = fs::write(&path, CANARY);
        let ids = Self::outside(arena, SHARE)?;
        let shared = Self { path, ids };
        written.ok().filter(|()| cfg!(target_arch = "x86_64")).map(|()| shared)
    }

    fn outside(arena: &Arena, line: &str) -> Option<String> {
        let none = arena.processes(SandboxMode::None, rye_sandbox::Rules::default());
        let result = shell(&none, &with_names(arena, SandboxMode::None, line));
        result.content["stdout"].as_str().filter(|said| said.starts_with("SHM=")).map(str::to_owned)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _there = fs::remove_file(&self.path);
        let _there = Self::outside(&Arena::new(), UNSHARE);
    }
}

const SHARE: &str = "perl -e '$k = $ARGV[0]; $m = shmget($k, 4096, 01600); $q = msgget($k, 01600); $s = semget($k, 1, 01600); defined $m and defined $q and defined $s or die; $n = \"rye-$k\\0\"; syscall(240, $n, 0100, 0600, 0) >= 0 or die; print \"SHM=$m MSG=$q SEM=$s\"' $IPC";

const UNSHARE: &str = "perl -e '$k = $ARGV[0]; shmctl(shmget($k, 0, 0), 0, 0); msgctl(msgget($k, 0), 0, 0); semctl(semget($k, 0, 0), 0, 0, 0); $n = \"rye-$k\\0\"; syscall(241, $n)' $IPC";

pub(crate) fn with_names(arena: &Arena, mode: SandboxMode, attempt: &str) -> String {
    let root = arena.root.display();
    let port = arena.tcp.local_addr().unwrap().port();
    let caller = std::process::id();
    format!(
        "OUTSIDE={root}/outside HOMEDIR={root}/home KEY={root}/home/.ssh/id_rsa PORT={port} CALLER={caller} IPC={caller} MODE={mode}\n{attempt}\ntrue"
    )
}

/// A descriptor that programs would inherit, were it not closed.
pub(crate) fn leak_a_descriptor(arena: &Arena) -> fs::File {
    let file = fs::File::open(arena.root.join("outside/secret.txt")).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    file
}
