//! However a program ends, or does not, nothing of it goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rye_thread::ToolStatus;
use rye_tools::sandbox::Mode;
use rye_tools::{CommandTool, Processes, Rules, bash};
use serde_json::json;

use crate::arena::{Arena, CANARY, call, launcher, living, permit, shell};

/// A length of sleep by which the processes of one test are known.
fn mark(test: u32) -> String {
    format!("{}.{}", 3000 + test, std::process::id())
}

fn in_each(check: impl Fn(&Arena, &Arc<Processes>, Mode)) {
    for mode in Mode::ALL {
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

/// Somebody replaces what is kept as it is, as `rye lock`, `git pull` and editors do, while a program runs.
#[test]
fn what_is_replaced_meanwhile_stays_kept() {
    for mode in [Mode::Bubblewrap, Mode::Namespaces] {
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
    in_each(|_, processes, mode| {
        for way in ways {
            let mark = mark(1);
            let result = shell(processes, &format!("{}\necho done", way.replace("MARK", &mark)));
            assert_eq!(result.content["stdout"], "done\n", "{mode} {way}");
            assert_eq!(living(&mark), Vec::<String>::new(), "{mode} {way}");
        }
    });
}

#[test]
fn time_is_up_for_all_of_it() {
    in_each(|_, processes, mode| {
        let mark = mark(2);
        let command = format!("trap '' TERM; echo begun; setsid sleep {mark} & sleep {mark}");
        let arguments = json!({ "command": command, "timeout_seconds": 1 });
        let result = call(&bash(processes), arguments);
        assert_eq!(result.status, ToolStatus::Error, "{mode}");
        assert_eq!(result.content["error"], "it was stopped after 1 s", "{mode}");
        assert_eq!(result.content["stdout"], "begun", "{mode}");
        soon("it goes on", || living(&mark).is_empty());
    });
}

#[test]
fn a_program_that_is_asked_to_end_may_say_something_first() {
    let arena = Arena::new();
    let Some(processes) = arena.in_mode(Mode::Namespaces) else { return };
    let command = "trap 'echo tidied; exit 3' TERM; echo begun; sleep 60 & wait";
    let result = call(&bash(&processes), json!({ "command": command, "timeout_seconds": 1 }));
    assert_eq!(result.content["stdout"], "begun\ntidied");
    assert_eq!(result.content["exit_code"], 3);
}

#[test]
fn a_call_that_is_dropped_ends_its_program() {
    in_each(|_, processes, mode| {
        let mark = mark(3);
        drop_call(processes, &mark, mode);
        soon("it goes on", || living(&mark).is_empty());
    });
}

#[test]
fn a_call_that_is_dropped_leaves_no_git_behind() {
    for mode in [Mode::Bubblewrap, Mode::Namespaces] {
        let arena = Arena::bare();
        let Some(processes) = arena.in_mode(mode) else { continue };
        drop_call(&processes, &mark(7), mode);
        soon("`.git` stays", || !arena.root.join("project/.git").exists());
    }
}

/// Begins a program and drops the call, and the runtime with it.
fn drop_call(processes: &Arc<Processes>, mark: &str, mode: Mode) {
    let tool = bash(processes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let command = format!("setsid sleep {mark} & sleep {mark}");
    runtime.block_on(async {
        let permit = permit();
        let call = tool.call(&permit, json!({ "command": command }));
        let begun = async {
            while living(mark).len() < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            result = call => panic!("{mode}: it ended by itself: {result:?}"),
            () = begun => {}
        }
    });
}

#[test]
fn a_caller_that_dies_takes_its_programs_along() {
    let arena = Arena::new();
    let mark = mark(4);
    let (project, calls) = (arena.root.join("project"), arena.root.join("calls"));
    std::fs::create_dir(calls.join("tmp")).unwrap();
    for mode in ["none", "landlock", "namespaces"] {
        let plan = json!({
            "mode": mode, "network": false, "project": project, "cwd": project,
            "scratch": calls, "temporary": calls.join("tmp"), "hidden": [], "guarded": [], "stands_in": false,
            "pinned": [], "open": [], "bubblewrap": null, "deadline_ms": 60_000, "grace_ms": 100,
            "processes": 1024, "file_bytes": 1_000_000,
        });
        // A shell that starts the launcher and is killed: nobody is left to end the program.
        let line = format!(
            "\"$0\" --rye-launch supervise \"$1\" sh -c 'setsid sleep {mark} & sleep {mark}' & wait"
        );
        let mut caller =
            start(&["sh", "-c", &line, launcher().to_str().unwrap(), &plan.to_string()]);
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
        let command = format!(
            "for i in $(seq 3000); do sleep {mark} & done 2>/dev/null; jobs -rp | wc -l; true"
        );
        let result = shell(processes, &command);
        assert!(living(&mark).is_empty(), "{mode} {result:?}");
        let n = result.content["stdout"].as_str().and_then(|it| it.trim().parse::<u32>().ok());
        let is_stopped = result.status == ToolStatus::Error;
        assert!(is_stopped || n.is_some_and(|n| n < 1400), "{mode} {result:?}");
    });
}

#[test]
fn a_folder_that_is_entered_leads_nowhere() {
    // Below `/tmp`, where the sandbox puts another folder in front of what is outside.
    for mode in [Mode::Bubblewrap, Mode::Namespaces, Mode::Landlock] {
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
    let report = processes.unwrap().sandbox().clone();
    println!("{report}");
    assert_ne!(report.mode(), Mode::None, "{report}");
}

#[test]
fn without_a_launcher_a_group_still_ends() {
    let arena = Arena::new();
    let mut host = arena.host();
    host.launcher = None;
    let project = arena.root.join("project");
    let processes = Processes::new(host, Rules::default(), &project).unwrap();
    let processes = Arc::new(processes);
    assert_eq!(processes.sandbox().mode(), Mode::None);
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
