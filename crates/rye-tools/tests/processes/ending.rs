//! However a program ends, or does not, nothing of it goes on.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rye_sandbox::{Processes, Rules};
use rye_thread::ToolStatus;
use rye_tools::{CommandTool, bash};
use rye_types::SandboxMode;
use serde_json::json;

use crate::arena::{Arena, CANARY, authorised, call, launcher, living, shell, threaded};
use crate::sweep::sweep;

/// A length of sleep by which the processes of one test are known.
fn mark(test: u32) -> String {
    format!("{}.{}", 3000 + test, std::process::id())
}

fn in_each(check: impl Fn(&Arena, &Arc<Processes>, SandboxMode)) {
    for &mode in SandboxMode::ALL {
        let arena = Arena::new();
        if let Some(processes) = arena.in_mode(mode) {
            check(&arena, &processes, mode);
        }
    }
}

/// Waits for what the system does by itself, which takes no more than a moment.
#[track_caller]
fn soon(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

/// A process that resumes a thread waits for this lock, which the supervisor shares while anything of the program lives.
#[test]
fn rule_12_the_lock_of_the_tools_is_shared_while_a_program_runs() {
    use rustix::fs::{FlockOperation, flock};
    in_each(|arena, processes, mode| {
        // There a program makes no file directly in the project, by which this test knows that it runs.
        if mode == SandboxMode::Landlock {
            return;
        }
        let project = arena.root.join("project");
        let path = arena.root.join("tools.lock");
        processes.lock_while_running(&path);
        let lock = || std::fs::File::create(&path).unwrap();
        let is_free = || flock(lock(), FlockOperation::NonBlockingLockExclusive).is_ok();
        assert!(is_free(), "{mode}");
        let command = "echo > begun; until [ -e go ]; do :; done; rm begun go";
        std::thread::scope(|scope| {
            let running = scope.spawn(|| shell(processes, command));
            soon("it begins", || project.join("begun").exists());
            assert!(!is_free(), "{mode}");
            assert!(flock(lock(), FlockOperation::NonBlockingLockShared).is_ok(), "{mode}");
            std::fs::write(project.join("go"), "").unwrap();
            assert_eq!(running.join().unwrap().status, ToolStatus::Ok, "{mode}");
        });
        soon("the supervisor ends", is_free);
    });
}

/// Somebody replaces what is kept as it is, as `rye lock`, `git pull` and editors do, while a program runs.
#[test]
fn what_is_replaced_meanwhile_stays_kept() {
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces] {
        for place in [
            ".ai/rye.lock",
            ".ai/config/trust.yaml",
            ".ai/config/keys/trusted/k.toml",
            ".ai/threads/t/transcript.jsonl",
            ".git/config",
            ".ai/threads",
            ".ai/config/keys",
        ] {
            let arena = Arena::new();
            let Some(processes) = arena.in_mode(mode) else { continue };
            let project = arena.root.join("project");
            std::fs::write(project.join(".ai/config/trust.yaml"), "").unwrap();
            let (place, aside) = (project.join(place), project.join("aside"));
            let command = "echo > begun; until [ -e go ]; do :; done; for f in \
                .ai/rye.lock .ai/config/trust.yaml .ai/config/keys/trusted/k.toml \
                .ai/threads/t/transcript.jsonl .git/config .ai/threads/new .ai/config/keys/new; do \
                (echo CHANGED >> $f) 2>/dev/null && echo OUT $f; done; rm -rf .ai/threads .ai/rye.lock 2>/dev/null; true";
            let result = std::thread::scope(|scope| {
                let running = scope.spawn(|| shell(&processes, command));
                soon("it begins", || project.join("begun").exists());
                if place.is_dir() {
                    std::fs::rename(&place, &aside).unwrap();
                    std::fs::create_dir(&place).unwrap();
                } else {
                    std::fs::write(&aside, "new").unwrap();
                    std::fs::rename(&aside, &place).unwrap();
                }
                std::fs::write(project.join("go"), "").unwrap();
                running.join().unwrap()
            });
            let told = result.content.to_string();
            assert!(!told.contains("OUT"), "{mode} {} {told}", place.display());
            assert!(place.exists() && project.join(".ai/rye.lock").exists(), "{mode} {told}");
        }
    }
}

#[test]
fn what_is_left_in_the_background_ends_with_the_call() {
    let ways = [
        "sleep MARK &",
        "nohup sleep MARK >/dev/null 2>&1 &",
        "setsid sleep MARK >/dev/null 2>&1 &",
        "(setsid sh -c 'setsid sleep MARK & exit' >/dev/null 2>&1 &)",
        "perl -e 'use POSIX; exit if fork; POSIX::setsid(); exit if fork; exec \"sleep\", \"MARK\"'",
        "trap '' TERM HUP; (trap '' TERM HUP; setsid sleep MARK) & sleep 0.05",
    ];
    let threads =
        threaded("MARK", 0).map(|way| format!("setsid {way} >/dev/null 2>&1 & sleep 0.5"));
    in_each(|_, processes, mode| {
        for way in ways.into_iter().chain(threads.as_deref()) {
            let mark = mark(1);
            let result = shell(processes, &format!("{}\necho done", way.replace("MARK", &mark)));
            assert_eq!(result.content["stdout"], "done\n", "{mode} {way}");
            assert_eq!(living(&mark), Vec::<String>::new(), "{mode} {way}");
        }
    });
}

/// In all sandboxes at once, because each takes more than a second.
#[test]
fn time_is_up_for_all_of_it() {
    let check = |number: u32, mode: SandboxMode| {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { return };
        let mark = mark(20 + number);
        let command = format!("trap '' TERM; echo begun; setsid sleep {mark} & sleep {mark}");
        let arguments = json!({ "command": command, "timeout_seconds": 1 });
        let result = call(&bash(&processes), arguments);
        assert_eq!(result.status, ToolStatus::Error, "{mode}");
        assert_eq!(result.content["error"], "it was stopped after 1 s", "{mode}");
        assert_eq!(result.content["stdout"], "begun", "{mode}");
        soon("it goes on", || living(&mark).is_empty());
    };
    std::thread::scope(|scope| {
        for (number, mode) in (0..).zip(SandboxMode::ALL) {
            scope.spawn(move || check(number, *mode));
        }
    });
}

#[test]
fn a_program_that_is_asked_to_end_may_say_something_first() {
    let arena = Arena::new();
    let Some(processes) = arena.in_mode(SandboxMode::Namespaces) else { return };
    let command = "trap 'echo tidied; exit 3' TERM; echo begun; sleep 60 & wait";
    let result = call(&bash(&processes), json!({ "command": command, "timeout_seconds": 1 }));
    assert_eq!(result.content["stdout"], "begun\ntidied");
    assert_eq!(result.content["exit_code"], 3);
}

#[test]
fn a_call_that_is_dropped_ends_its_program() {
    in_each(|_, processes, mode| {
        let mark = mark(3);
        drop_call(processes, &mark, "", mode);
        soon("it goes on", || living(&mark).is_empty());
    });
}

#[test]
fn a_call_that_is_dropped_leaves_no_git_behind() {
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces] {
        let arena = Arena::bare();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        drop_call(&processes, &mark(7), "mkdir -p .git/hooks; ", mode);
        soon("`.git` stays", || !project.join(".git").exists());
        assert!(project.join(".git.quarantined/hooks").is_dir(), "{mode}");
        // The call that was dropped told of nothing, so that the next one does.
        soon("the note stays locked", || {
            let told = shell(&processes, "true").content["quarantined"].clone();
            told == json!([{ "path": ".git", "renamed_to": ".git.quarantined" }])
        });
        assert!(shell(&processes, "true").content.get("quarantined").is_none(), "{mode}");
    }
}

/// Begins a program and drops the call, and the runtime with it.
fn drop_call(processes: &Arc<Processes>, mark: &str, first: &str, mode: SandboxMode) {
    let tool = bash(processes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let command = format!("{first}setsid sleep {mark} & sleep {mark}");
    runtime.block_on(async {
        let call = tool.call(authorised(json!({ "command": command })));
        let begun = async {
            while living(mark).iter().filter(|line| line.starts_with("sleep")).count() < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            result = call => panic!("{mode}: it ended by itself: {result:?}"),
            () = begun => {}
        }
    });
}

/// Writes a plan as the launcher reads it.
fn write_frame(arena: &Arena, mode: &str, journal: Option<&Path>) {
    let (project, calls) = (arena.root.join("project"), arena.root.join("calls"));
    std::fs::create_dir_all(calls.join("tmp")).unwrap();
    let known = |path: &Path| {
        let found = path.metadata().unwrap();
        json!({ "path": path, "device": found.dev(), "inode": found.ino() })
    };
    let plan = json!({
        "mode": mode, "network": false, "landlock": null, "newest_landlock": 6, "project": known(&project), "cwd": project,
        "scratch": known(&calls), "homes": [], "hidden": [], "kept": [], "attempts": null, "environment": {},
        "journal": journal, "is_awaited": false, "reads_input": false, "bubblewrap": "/nowhere/bwrap",
        "deadline_ms": 60_000, "grace_ms": 100, "bounds": { "memory_mib": 4096, "processes": 1024 }, "file_bytes": 1_000_000,
    })
    .to_string();
    std::fs::write(arena.root.join("frame"), format!("{}\n{plan}", plan.len())).unwrap();
}

/// A repository that the operator makes after a start that failed is not taken for that of a program.
#[test]
fn a_start_that_failed_leaves_no_note() {
    let arena = Arena::new();
    let notes = arena.root.join("notes");
    write_frame(&arena, "bubblewrap", Some(&notes));
    let line = "! \"$0\" --rye-launch supervise true < \"$1\" 2> \"$1.said\"";
    let frame = arena.root.join("frame");
    let words = ["sh", "-c", line, launcher().to_str().unwrap(), frame.to_str().unwrap()]
        .map(str::to_owned);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(start(&words).wait().unwrap().success());
    let said = std::fs::read_to_string(arena.root.join("frame.said")).unwrap();
    assert!(said.contains("cannot start `/nowhere/bwrap`"), "{said}");
    let names = std::fs::read_dir(notes).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(names.len() == 1 && names[0].starts_with("lock-"), "{names:?} {said}");
}

#[test]
fn a_caller_that_dies_takes_its_programs_along() {
    let arena = Arena::new();
    let mark = mark(4);
    for mode in ["none", "landlock", "namespaces"] {
        write_frame(&arena, mode, None);
        // A shell that starts the launcher and is killed: nobody is left to end the program.
        let line = format!(
            "\"$0\" --rye-launch supervise sh -c 'setsid sleep {mark} & sleep {mark}' < \"$1\" & wait"
        );
        let frame = arena.root.join("frame");
        let mut caller =
            start(&["sh", "-c", &line, launcher().to_str().unwrap(), frame.to_str().unwrap()]);
        soon("it begins", || {
            living(&format!("sleep {mark}")).iter().filter(|it| it.starts_with("sleep")).count()
                == 2
        });
        caller.kill().unwrap();
        caller.wait().unwrap();
        soon("it goes on", || living(&mark).is_empty());
    }
}

#[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
fn start(words: &[&str]) -> std::process::Child {
    std::process::Command::new(words[0]).args(&words[1..]).spawn().unwrap()
}

#[test]
fn what_multiplies_is_bounded() {
    in_each(|_, processes, mode| {
        let mark = mark(5);
        // Where no kernel counts, the launcher does, and may look only once all of them run.
        let command = format!(
            "for i in $(seq 3000); do sleep {mark} & done 2>/dev/null; n=$(jobs -rp | wc -l); echo $n; [ $n -lt 1400 ] || sleep 60"
        );
        let result = shell(processes, &command);
        assert!(living(&mark).is_empty(), "{mode} {result:?}");
        let n = result.content["stdout"].as_str().and_then(|it| it.trim().parse::<u32>().ok());
        let is_stopped = result.status == ToolStatus::Error;
        assert!(is_stopped || n.is_some_and(|n| n < 1400), "{mode} {result:?}");
    });
}

/// Programs in each mode with small bounds, and the error output of what goes over them.
fn bounded(check: impl Fn(SandboxMode, &dyn Fn(&str) -> rye_thread::ToolOutput)) {
    for &mode in SandboxMode::ALL {
        let arena = Arena::new();
        let mut rules = Rules::default();
        rules.bounds.memory_mib = 200;
        rules.bounds.processes = 60;
        let processes = arena.processes(mode, rules);
        if arena.in_mode(mode).is_some() {
            check(mode, &|command| shell(&processes, command));
        }
    }
}

#[test]
fn memory_without_end_is_an_error_that_names_the_bound() {
    let told = "a call gets at most 200 MiB of memory; `memory_mib` in `config/agent/processes.yaml` of the user space raises that";
    bounded(|mode, run| {
        let first = SandboxMode::ALL.iter().position(|other| *other == mode).unwrap();
        let endless = [
            ("one process", "perl -e 'my @a; push @a, \"x\" x (1 << 20) while 1'"),
            ("at once", "perl -e 'my $a = \"x\" x (1 << 33)'"),
            (
                "many processes",
                "for i in $(seq 8); do perl -e 'my $a = \"x\" x (60 << 20); sleep 30' & done; wait",
            ),
            (
                "one that is left in the background",
                "setsid perl -e 'my @a; while (1) { push @a, \"x\" x (1 << 20); select undef, undef, undef, 0.005 }' >/dev/null 2>&1 & sleep 30",
            ),
            // The kernel ends them before the launcher has looked.
            (
                "one that grows as fast as it can",
                "setsid perl -e 'my @a; push @a, \"x\" x (1 << 20) while 1' >/dev/null 2>&1 & wait",
            ),
            (
                "an orphan that grows as fast as it can",
                "(setsid sh -c \"perl -e 'my @a; push @a, 1 x (1 << 20) while 1'; : > $TMPDIR/done\" >/dev/null 2>&1 &); until [ -e $TMPDIR/done ]; do sleep 0.02; done",
            ),
            (
                "one whose shell waits for it",
                "perl -e 'my @a; push @a, \"x\" x (1 << 20) while 1' >/dev/null 2>&1; true",
            ),
            (
                "some that are left in the background",
                "for i in $(seq 8); do setsid perl -e 'my $a = \"x\" x (60 << 20); sleep 30' >/dev/null 2>&1 & done; sleep 30",
            ),
        ];
        let threads = threaded("20", 60);
        let threads = threads.map(|way| format!("for i in $(seq 8); do {way} & done; sleep 8"));
        let threads = threads.iter().map(|way| ("some whose first thread has ended", &**way));
        // Each sandbox begins with another one.
        for (name, command) in sweep(endless, first, 4).into_iter().chain(threads) {
            let result = run(command);
            assert_eq!(result.status, ToolStatus::Error, "{mode} {name}: {}", result.content);
            assert!(result.content.to_string().contains(told), "{mode} {name}: {}", result.content);
        }
        // Mapped files are no memory of the program.
        let result = run(
            "truncate -s 260M $TMPDIR/f; perl -e 'open F, \"<:mmap\", \"$ENV{TMPDIR}/f\"; $/ = \\65536; $n++ while <F>; print $n'",
        );
        assert_eq!(result.content["stdout"], "4160", "{mode}: {}", result.content);
        // A process that starts others has its memory once, although each has it, too, for a moment.
        let starting = "import subprocess; k = b\"x\" * (120 << 20); [subprocess.call([\"/bin/true\"]) for _ in range(400)]; print(len(k))";
        if Path::new("/usr/bin/python3").is_file() {
            let result = run(&format!("/usr/bin/python3 -c '{starting}'"));
            assert_eq!(result.content["stdout"], "125829120\n", "{mode}: {}", result.content);
        }
        let result = run("perl -e 'my $a = \"x\" x (60 << 20); print length $a'");
        assert_eq!(result.content["stdout"], "62914560", "{mode}: {}", result.content);
    });
}

#[test]
fn processes_without_end_are_an_error_that_names_the_bound() {
    let told = "a call gets at most 60 processes and threads; `processes` in `config/agent/processes.yaml` of the user space raises that";
    bounded(|mode, run| {
        let mark = mark(8);
        for (name, command) in [
            ("a fork bomb", "perl -e '$0 = \"MARK\"; fork for 1..10; sleep 30'"),
            ("one that makes many", "for i in $(seq 200); do sleep MARK & done; wait"),
            ("sessions of their own", "for i in $(seq 200); do setsid sleep MARK & done; wait"),
        ] {
            let result = run(&command.replace("MARK", &mark));
            assert_eq!(result.status, ToolStatus::Error, "{mode} {name}: {}", result.content);
            assert!(result.content.to_string().contains(told), "{mode} {name}: {}", result.content);
            assert_eq!(living(&mark), Vec::<String>::new(), "{mode} {name}");
        }
        let result = run("for i in $(seq 20); do sleep 0.2 & done; wait; echo done");
        assert_eq!(result.content["stdout"], "done\n", "{mode}: {}", result.content);
    });
}

/// The launcher is in no group that a program can name.
#[test]
fn a_program_that_ends_its_group_ends_itself_alone() {
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces] {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let result = shell(&processes, "perl -e 'kill KILL, 0'");
        assert_eq!(result.content["exit_code"], 137, "{mode}: {}", result.content);
        assert!(result.content.get("unchecked").is_none(), "{mode}: {}", result.content);
    }
}

/// Programs close folders of theirs to everybody, their owner included.
#[test]
pub(crate) fn closed_temporary_folders_are_removed() {
    in_each(|arena, processes, mode| {
        let command = "mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b $TMPDIR/a; chmod 0 $TMPDIR";
        let result = shell(processes, command);
        assert_eq!(result.content["exit_code"], 0, "{mode}: {}", result.content);
        let left = std::fs::read_dir(arena.root.join("calls")).unwrap().count();
        assert_eq!(left, 0, "{mode}");
    });
}

/// Reading a file is enough to lock it, and a lock keeps others waiting.
#[test]
fn no_program_locks_what_rye_writes() {
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces] {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = format!(
            "find .ai/threads -mindepth 1; cat {0}/notes/* {0}/notes/.[a-z]*; ls {0}/notes; true",
            arena.root.display()
        );
        // The folder of the notes is there from the second program on, too.
        for _ in 0..2 {
            let result = shell(&processes, &command);
            assert_eq!(result.content["stdout"], "", "{mode}: {}", result.content);
        }
    }
}

/// A caller that is killed removes nothing itself.
#[test]
fn the_folder_of_a_killed_call_is_removed_by_the_next() {
    let arena = Arena::new();
    let calls = arena.root.join("calls");
    let left = calls.join(".rye-a1left.tmp");
    std::fs::create_dir_all(left.join("tmp/deep")).unwrap();
    std::fs::write(left.join("tmp/deep/file"), CANARY).unwrap();
    std::fs::create_dir(calls.join("other")).unwrap();
    let processes = arena.processes(SandboxMode::None, Rules::default());
    let result = shell(&processes, "stat -c %a $TMPDIR $TMPDIR/..");
    assert_eq!(result.content["stdout"], "700\n700\n", "{}", result.content);
    let names = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let left: Vec<_> = std::fs::read_dir(&calls).unwrap().map(names).collect();
    assert_eq!(left, ["other"]);
}

/// The bounds that are shipped leave room for what reserves much and uses little.
#[test]
fn usual_runtimes_start_within_the_bounds() {
    let wasm = "node -e 'for (let i = 0; i < 3; i++) new WebAssembly.Memory({initial: 1})'";
    for (program, command) in [
        ("node", wasm),
        ("java", "java -version"),
        ("python3", "python3 -c 1"),
        ("cargo", "cargo --version"),
        ("perl", "perl -e 1"),
    ] {
        let arena = Arena::new();
        let places = arena.host().environment["PATH"].clone();
        if !std::env::split_paths(&places).any(|place| place.join(program).exists()) {
            println!("NOT TESTED HERE: `{program}` is not installed");
            continue;
        }
        let Some(processes) = arena.in_mode(SandboxMode::Namespaces) else { return };
        let result = shell(&processes, command);
        assert_eq!(result.status, ToolStatus::Ok, "{program}: {}", result.content);
    }
}

#[test]
fn a_folder_that_is_entered_leads_nowhere() {
    // Below `/tmp`, where the sandbox puts another folder in front of what is outside.
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces, SandboxMode::Landlock] {
        let arena = Arena::in_folder("/tmp");
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = "cat /proc/[0-9]*/cwd/../home/.netrc /proc/[0-9]*/fd/[3-9]/../home/.netrc; cat ../home/.netrc; ls ..; true";
        let result = shell(&processes, command);
        assert!(!result.content.to_string().contains(CANARY), "{mode} {result:?}");
    }
}

/// The strongest sandbox is only as good as what the machine gives; this says what was tested.
#[test]
#[cfg(target_os = "linux")]
fn this_machine_has_a_sandbox() {
    let arena = Arena::new();
    let processes = Processes::new(arena.host(), Rules::default(), &arena.root.join("project"));
    let report = processes.unwrap().sandbox().unwrap();
    println!("{report}");
    assert_ne!(report.mode(), SandboxMode::None, "{report}");
}

#[test]
fn without_a_launcher_a_group_still_ends() {
    let arena = Arena::new();
    let mut host = arena.host();
    host.launcher = None;
    let project = arena.root.join("project");
    let processes = Processes::new(host, Rules::default(), &project).unwrap();
    let processes = Arc::new(processes);
    assert_eq!(processes.sandbox().unwrap().mode(), SandboxMode::None);
    let mark = mark(6);
    let result = shell(&processes, &format!("sleep {mark} & echo done"));
    assert_eq!(result.content["stdout"], "done\n");
    soon("it goes on", || living(&mark).is_empty());
    let tool = CommandTool::new("/nowhere/at/all").tool(&processes);
    let result = call(&tool, json!({}));
    assert_eq!(
        result.content["error"],
        "cannot start the program: No such file or directory (os error 2)"
    );
}
