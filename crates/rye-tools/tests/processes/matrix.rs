//! Each promise about programs, tried in each mode, with each version of Landlock, by root and by an ordinary user.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use rye_sandbox::{Enforcement, Processes, Promise, Rules};
use rye_types::SandboxMode;

use crate::arena::{Arena, exists, living, shell};
use crate::escapes::Shared;
use crate::sweep::sweep;

/// Versions of Landlock that confine different things, and 0 for a kernel without it.
const VERSIONS: [u8; 6] = [0, 1, 2, 3, 5, 6];

/// What breaks the promise: a line of the shell that prints `OUT`, or something that is there afterwards.
enum Way {
    Says(&'static str),
    Leaves {
        line: &'static str,
        path: &'static str,
    },
    /// A line that starts a process with `MARK` in its command line, which goes on.
    GoesOn(&'static str),
    /// A call of its own, with small bounds.
    Takes(&'static str),
}

/// Returns the ways to break a promise. A promise without a way does not compile.
fn ways(promise: Promise) -> Vec<Way> {
    use Way::{GoesOn, Leaves, Says, Takes};

    match promise {
        Promise::WriteElsewhere => vec![
            Says("(echo x > $OUTSIDE/new) 2>/dev/null && echo OUT; rm -f $OUTSIDE/new"),
            Says("(: > /dev/rye-file) 2>/dev/null && echo OUT; rm -f /dev/rye-file"),
            Says("perl -e 'truncate($ARGV[0], 0) and print \"OUT\"' $OUTSIDE/victim1"),
            Says(
                "perl -MFcntl -e 'sysopen(F, $ARGV[0], O_RDONLY | O_TRUNC)' $OUTSIDE/victim2; [ -s $OUTSIDE/victim2 ] || echo OUT",
            ),
            Says(
                "perl -MFcntl -e 'sysopen(F, $ARGV[0], 3 | O_TRUNC)' $OUTSIDE/victim3; [ -s $OUTSIDE/victim3 ] || echo OUT",
            ),
            Says("mv $OUTSIDE/victim4 . 2>/dev/null && echo OUT; mv victim4 $OUTSIDE 2>/dev/null"),
        ],
        Promise::WritePipes => vec![Says(
            "perl -MFcntl -e 'sysopen(F, $ARGV[0], O_WRONLY | O_NONBLOCK) or $!{ENXIO} and print \"OUT\"' $OUTSIDE/pipe",
        )],
        Promise::ChangeUserSpace => vec![
            Says("(echo x > user/.ai/config/keys/trusted/new.toml) 2>/dev/null && echo OUT"),
            Says("(echo x > user/.ai/new) 2>/dev/null && echo OUT"),
            Says("(echo x >> user/.ai/config/trust.yaml) 2>/dev/null && echo OUT"),
            Says("mv user/.ai elsewhere 2>/dev/null && echo OUT"),
            Says("mv user away 2>/dev/null && echo OUT && mv away user"),
            Says("(echo x > $OUTSIDE/../project/user/.ai/new2) 2>/dev/null && echo OUT"),
        ],
        Promise::ChangeAttributes => {
            vec![Says("chmod 600 $OUTSIDE/secret.txt 2>/dev/null && echo OUT")]
        }
        Promise::ChangePolicy => vec![
            Says("(echo x > .ai/config/trust.yaml) 2>/dev/null && echo OUT"),
            Says("(echo x >> .ai/rye.lock) 2>/dev/null && echo OUT"),
        ],
        Promise::ChangeRepositories => {
            vec![Says("(echo id > .git/hooks/pre-commit) 2>/dev/null && echo OUT")]
        }
        Promise::MakeRepositories => {
            vec![Leaves { line: "mkdir -p src/made/.git/hooks", path: "src/made/.git" }]
        }
        Promise::LockRecords => vec![Says(
            "f=.ai/threads/t/transcript.jsonl; [ -e $f ] && flock -n $f true && echo OUT",
        )],
        Promise::ReadKeys => vec![Says("grep -q CANARY $KEY && echo OUT")],
        Promise::ReadHome => vec![Says("grep -q CANARY $HOMEDIR/letters/diary.txt && echo OUT")],
        Promise::ListNames => {
            vec![Says("ls -A $HOMEDIR 2>/dev/null | grep -q letters && echo OUT")]
        }
        Promise::UseMemory => vec![
            Takes("perl -e '$x = \"x\" x 600_000_000; print \"OUT\"'"),
            Takes(
                "setsid perl -e 'sleep 1; push @a, \"x\" x 1_000_000 for 1 .. 400; print STDERR \"OUT\"' & sleep 0.2; kill -9 $PPID; wait",
            ),
        ],
        Promise::UseProcesses => vec![Takes(
            "perl -e 'for (1 .. 700) { my $p = fork; last unless defined $p; if (!$p) { sleep 20; exit } $n++ } print \"OUT\" if $n > 600'",
        )],
        Promise::ShareMemory => {
            vec![Says("perl -e 'print \"OUT\" if defined shmget($ARGV[0], 0, 0)' $IPC")]
        }
        Promise::UseNetwork => {
            vec![Says("(echo x > /dev/tcp/127.0.0.1/$PORT) 2>/dev/null && echo OUT")]
        }
        Promise::ReachServices => vec![
            Says(
                "perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0) and connect(S, sockaddr_un($ARGV[0]))' $OUTSIDE/service.sock",
            ),
            Says("perl -e 'print \"OUT\" if socketpair(A, B, 1, 2, 0)'"),
            Says("perl -e 'print \"OUT\" if socketpair(A, B, 1, 3, 0)'"),
            Says("perl -e 'print \"OUT\" if socketpair(A, B, 1, 2 | 0x80800, 0)'"),
        ],
        Promise::SeeProcesses => vec![Says("[ -e /proc/$CALLER ] && echo OUT")],
        // A signal that is ignored unless a process asks for it.
        Promise::SignalProcesses => vec![
            Says("kill -URG $CALLER 2>/dev/null && echo OUT"),
            Says("perl -e 'print \"OUT\" if syscall(200, $ARGV[0] + 0, 23) == 0' $CALLER"),
            Says(
                "perl -e 'print \"OUT\" if syscall(234, $ARGV[0] + 0, $ARGV[0] + 0, 23) == 0' $CALLER",
            ),
            Says(
                "perl -e '$f = syscall(434, $ARGV[0] + 0, 0); print \"OUT\" if $f >= 0 and syscall(424, $f, 23, 0, 0) == 0' $CALLER",
            ),
        ],
        Promise::ReadProcesses => vec![Says(
            "tr '\\0' '\\n' < /proc/$CALLER/environ 2>/dev/null | grep -q '^RYE_TEST_KEY=CANARY' && echo OUT",
        )],
        Promise::MoveProcesses => vec![Says(
            "perl -e '$m = \"\\0\" x 128; $n = syscall(204, $ARGV[0] + 0, 128, $m); print \"OUT\" if $n > 0 and syscall(203, $ARGV[0] + 0, $n, $m) == 0' $CALLER",
        )],
        Promise::StayBehind => vec![
            GoesOn("setsid sleep MARK >/dev/null 2>&1 &"),
            GoesOn("setsid sleep MARK >/dev/null 2>&1 & sleep 0.2; kill -9 $PPID; sleep 0.2"),
        ],
        Promise::KeepPowers => {
            vec![Says("grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo OUT")]
        }
        other => panic!("{other:?} is not tried"),
    }
}

/// Returns `false` if an open promise cannot be shown to be open, whoever tries.
fn is_shown(promise: Promise, is_root: bool) -> bool {
    match promise {
        // A program may be stopped before it has so many.
        Promise::UseProcesses => false,
        Promise::KeepPowers => is_root,
        // The processes of root have powers that a program gave up.
        Promise::MoveProcesses => !is_root,
        _ => true,
    }
}

/// Tries every promise in the mode, with each version of Landlock that it can have in a whole sweep.
pub(crate) fn check(mode: SandboxMode) {
    let versions: &[u8] = match mode {
        SandboxMode::None => &VERSIONS[..1],
        SandboxMode::Landlock => &VERSIONS[1..],
        _ => &VERSIONS,
    };
    let is_root = rustix::process::geteuid().is_root();
    let first = usize::from(is_root && versions.len() > 1);
    let mut wrong = Vec::new();
    for (number, version) in sweep(versions.iter().copied(), first, 3).into_iter().enumerate() {
        // Unless the sweep is whole, two versions share the promises.
        let promises = sweep(Promise::ALL, (number + usize::from(is_root)) % 2, 2);
        wrong.extend(check_one(mode, version, is_root, &promises));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
fn check_one(mode: SandboxMode, version: u8, is_root: bool, promises: &[&Promise]) -> Vec<String> {
    let arena = Arena::new();
    for place in ["project/user/.ai/config/keys/trusted", "project/src"] {
        fs::create_dir_all(arena.root.join(place)).unwrap();
    }
    fs::write(arena.root.join("project/user/.ai/config/trust.yaml"), "strict: true\n").unwrap();
    for number in 1..=4 {
        fs::write(arena.root.join(format!("outside/victim{number}")), "victim").unwrap();
    }
    let pipe = arena.root.join("outside/pipe");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, rustix::fs::Mode::RWXU, 0).unwrap();
    let host = |bounds: Option<(u64, u64)>| {
        let mut host = arena.host();
        (host.modes, host.landlock) = (vec![mode], version);
        host.kept = vec![arena.root.join("project/user/.ai")];
        let mut rules = Rules::default();
        if let Some((memory, processes)) = bounds {
            (rules.bounds.memory_mib, rules.bounds.processes) = (memory, processes);
        }
        Arc::new(Processes::new(host, rules, &arena.root.join("project")).unwrap())
    };
    let processes = host(None);
    let report = processes.sandbox().unwrap();
    let enforcement = report.enforcement();
    if (enforcement.mode, enforcement.landlock) != (mode, version) {
        println!("NOT TESTED HERE: `{mode}` with Landlock {version}\n{report}");
        return Vec::new();
    }
    let shared = Shared::new(&arena);
    let small = host(Some((300, 60)));
    let mut wrong = Vec::new();
    for &&promise in promises {
        if promise == Promise::ShareMemory && shared.is_none() {
            println!("NOT TESTED HERE: shared memory of System V");
            continue;
        }
        let mut broken = Vec::new();
        for (number, way) in ways(promise).iter().enumerate() {
            let is_out = try_it(&arena, (&processes, &small), way);
            broken.extend(is_out.then_some(number));
        }
        let what = format!("`{mode}` with Landlock {version}, root: {is_root}: {promise:?}");
        if enforcement.keeps(promise) && !broken.is_empty() {
            wrong.push(format!("{what} is broken by {broken:?}"));
        }
        if !enforcement.keeps(promise) && broken.is_empty() && is_shown(promise, is_root) {
            wrong.push(format!("{what} is kept, and the report calls it a gap"));
        }
    }
    wrong.extend(check_report(&report.to_string(), enforcement));
    wrong
}

/// Returns `true` if the way broke a promise.
fn try_it(
    arena: &Arena,
    (processes, small): (&Arc<Processes>, &Arc<Processes>),
    way: &Way,
) -> bool {
    let run = |processes, line: &str| {
        let line = crate::escapes::with_names(arena, SandboxMode::None, line);
        shell(processes, &line).content.to_string().contains("OUT")
    };
    match way {
        Way::Says(line) => run(processes, line),
        Way::Takes(line) => {
            let line = crate::escapes::with_names(arena, SandboxMode::None, line);
            let told = shell(small, &line).content.to_string();
            // What ended between two looks is told afterwards.
            told.contains("OUT") && !told.contains("a call gets at most")
        }
        Way::Leaves { line, path } => {
            run(processes, line);
            exists(&arena.root.join("project").join(path))
        }
        Way::GoesOn(line) => {
            // A time that is short, because nothing else ends it where it goes on.
            let mark = format!("20.{:07}", std::process::id());
            run(processes, &line.replace("MARK", &mark));
            !living(&format!("sleep {mark}")).is_empty()
        }
    }
}

/// Checks that the report names what is open, and nothing else.
fn check_report(report: &str, enforcement: Enforcement) -> Option<String> {
    let named = |promise: &&Promise| report.contains(promise.gap());
    let wrong = Promise::ALL.iter().find(|promise| named(promise) == enforcement.keeps(**promise));
    wrong.map(|promise| format!("{promise:?} and the report differ:\n{report}"))
}

/// A machine without namespaces, or without Landlock, takes the mode that is left, and says what it lacks.
#[test]
fn a_mode_that_the_kernel_refuses_is_not_used() {
    for (state, modes, expected) in [
        ("no-unshare", SandboxMode::ALL, (SandboxMode::Landlock, true)),
        ("no-landlock", &[SandboxMode::Namespaces][..], (SandboxMode::Namespaces, false)),
        ("no-landlock", &[SandboxMode::Landlock], (SandboxMode::None, false)),
    ] {
        let arena = Arena::new();
        let mut host = arena.host();
        host.launcher = Some(arena.launcher_as(state));
        host.modes = modes.to_vec();
        let works = |mode: SandboxMode| arena.in_mode(mode).is_some();
        if !works(expected.0) {
            continue;
        }
        let project = arena.root.join("project");
        let mut rules = Rules::default();
        let processes = Processes::new(host.clone(), rules.clone(), &project).unwrap();
        let report = processes.sandbox().unwrap();
        let found = report.enforcement();
        assert_eq!((found.mode, found.landlock > 0), expected, "{state}: {report}");
        assert!(!found.is_whole(), "{state}: {report}");
        // What is weaker does not pass for whole.
        rules.sandbox = rye_sandbox::Policy::Required;
        let processes = Arc::new(Processes::new(host, rules, &project).unwrap());
        let result = shell(&processes, "touch began").content.to_string();
        assert!(result.contains("no whole sandbox"), "{state}: {result}");
        assert!(!project.join("began").exists(), "{state}");
    }
}

/// Where Landlock is too old for signals, a filter refuses the ways that are not calls of `kill`.
#[test]
fn an_older_landlock_has_a_filter_for_signals() {
    for (version, expected) in [(5, "refused"), (6, "")] {
        let arena = Arena::new();
        let mut host = arena.host();
        (host.modes, host.landlock) = (vec![SandboxMode::Landlock], version);
        let processes = Processes::new(host, Rules::default(), &arena.root.join("project"));
        let processes = Arc::new(processes.unwrap());
        if processes.sandbox().unwrap().enforcement().landlock != version {
            println!("NOT TESTED HERE: Landlock {version}");
            continue;
        }
        for call in ["fcntl(STDIN, 8, $$)", "fcntl(STDIN, 10, 23)", "kill(\"URG\", $ARGV[0])"] {
            let line = format!("perl -e '{call} or $!{{EPERM}} and print \"refused\"' $PPID; true");
            let result = shell(&processes, &line);
            // Newer ones refuse only the signal to what is outside.
            let is_own = call.starts_with("fcntl") || version == 5;
            assert!(
                !is_own || result.content["stdout"] == expected,
                "{version} {call}: {result:?}"
            );
        }
        // A program that ends itself is not kept from it.
        let result = shell(&processes, "kill -0 $$ && kill -TERM $$; echo on");
        assert_eq!(result.content["exit_code"], 143, "{version}: {result:?}");
    }
}

/// A link in the project to the user space cannot be kept, and a program that replaced it would choose the next one.
#[test]
fn a_user_space_behind_a_link_of_the_project_starts_nothing() {
    for mode in [SandboxMode::Namespaces, SandboxMode::Bubblewrap, SandboxMode::Landlock] {
        for (target, kept) in [
            ("user/.ai", "link"),
            ("user", "link/.ai"),
            ("../outside", "link/.ai"),
            ("../outside/user", "link/nowhere/.ai"),
        ] {
            let arena = Arena::new();
            let project = arena.root.join("project");
            fs::create_dir_all(project.join("user/.ai/config/keys/trusted")).unwrap();
            symlink(target, project.join("link")).unwrap();
            let mut host = arena.host();
            (host.modes, host.kept) = (vec![mode], vec![project.join(kept)]);
            let processes = Arc::new(Processes::new(host, Rules::default(), &project).unwrap());
            if processes.sandbox().unwrap().mode() != mode {
                println!("NOT TESTED HERE: {mode}");
                continue;
            }
            let result = shell(&processes, "mv link user/away; mkdir link; touch src/began; true");
            let is_refused = result.content.to_string().contains("a program could replace it");
            assert!(is_refused, "{mode} {target}: {result:?}");
            assert!(!project.join("src/began").exists(), "{mode} {target}");
            assert!(project.join("link").is_symlink(), "{mode} {target}");
        }
    }
}
