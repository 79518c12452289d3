//! Programs that are killed while they run a thread.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::money::{Money, records};
use crate::session::{Session, has_record};
use crate::sweep::is_whole;

/// How many programs are killed in each test; `RYE_KILLS` in the environment of the build says another number.
pub(crate) const KILLS: Option<&str> = option_env!("RYE_KILLS");

const STEPS: usize = 20;

/// Tells who has many killed how far it has come.
#[expect(clippy::print_stderr, reason = "nobody waits for minutes without a sign of life")]
pub(crate) fn progress(what: &str, killed: u64, kills: u64) {
    if KILLS.is_some() && (killed == kills || killed.is_multiple_of(10)) {
        eprintln!("{what}: {killed} of {kills} killed, all resumed, nothing done twice or lost");
    }
}

/// A directive that writes many files in turn.
fn writer() -> String {
    let steps: String = (0..STEPS)
        .map(|step| {
            format!(
                "  <step name=\"s{step}\">\n    <description>Write {step}.</description>\n        <execute item_type=\"tool\" item_id=\"rye/file-system/write\">\n          \
                 <param name=\"path\" value=\"out/{step}.txt\"/>\n          <param name=\"content\" \
                 value=\"{step}\"/>\n        </execute>\n      </step>\n"
            )
        })
        .collect();
    format!(
        "# Write many\n\n```xml\n<directive name=\"many\" version=\"1.0.0\">\n  <metadata>\n    <description>Writes many \
         files.</description>\n    <category>notes</category>\n    <author>rye</author>\n    <limits turns=\"40\" tokens=\"100000\"/>\n    \
         <permissions>\n      <execute>\n        <tool>rye.file-system.write</tool>\n      </execute>\n    </permissions>\n  \
         </metadata>\n</directive>\n```\n\n<process>\n{steps}</process>\n"
    )
}

/// A generator of numbers that are the same every time (xorshift).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Runs a directive and kills its program once `is_time`; whether it ended before.
#[expect(clippy::disallowed_methods, reason = "what is killed has to be a program")]
fn killed(session: &Session, directive: &str, is_time: impl Fn() -> bool) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(["run", directive, "--provider", "steps", "--trust", &session.trust()])
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() && !is_time() {
        std::thread::yield_now();
    }
    drop(child.kill());
    child.wait().unwrap().success()
}

/// Killed when its transcript has grown to some random length, a thread is resumed, killed again, and then ends as if
/// nothing had happened.
#[test]
fn a_killed_thread_is_resumed() {
    let session = Session::new();
    session.put(".ai/directives/notes/many.md", &writer());
    let signed = session.rye("sign .ai/directives/notes/many.md --key KEY");
    assert!(signed.ends_with("exit 0\n"), "{signed}");
    let threads = session.project().join(".ai/threads");
    let kills: u64 = KILLS.map_or(if is_whole() { 6 } else { 2 }, |kills| kills.parse().unwrap());
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let (mut interrupted, mut done) = (0, 0);
    while interrupted < kills {
        drop(fs::remove_dir_all(&threads));
        drop(fs::remove_dir_all(session.project().join("out")));
        let length = numbers.next(60_000);
        let ended = killed(&session, "notes/many", || length <= session.recorded());
        if !session.has_record() {
            continue;
        }
        if ended {
            done += 1;
            assert!(done < 50 + kills, "threads end before they can be killed");
            continue;
        }
        interrupted += 1;
        let resumed = session.rye("resume THREAD --trust TRUST --json --quiet");
        assert!(
            resumed.contains("\"state\": \"completed\"") || resumed.contains("is `completed`"),
            "at {length}: {resumed}"
        );
        for step in 0..STEPS {
            let text = fs::read_to_string(session.project().join(format!("out/{step}.txt")));
            assert_eq!(text.unwrap(), step.to_string(), "at {length}");
        }
        let verified = session.rye("threads verify --trust TRUST");
        assert!(verified.contains("ok       many-"), "at {length}: {verified}");
        progress("threads", interrupted, kills);
    }
}

const SPAWN: &str = "rye/agent/threads/thread_directive";
const WRITE: &str = "rye/file-system/write";

/// A tool, and the parameters that it is called with.
type Call<'a> = (&'a str, &'a [(&'a str, &'a str)]);

/// A directive whose steps make these calls, and whose hooks write down its second turn and its end.
fn calling(name: &str, calls: &[Call<'_>]) -> String {
    let step = |(place, (tool, given)): (usize, &Call<'_>)| {
        let given: String = given
            .iter()
            .map(|(name, value)| format!("<param name=\"{name}\">{value}</param>"))
            .collect();
        format!(
            "  <step name=\"s{place}\">\n    <description>Do.</description>\n    <execute item_type=\"tool\" item_id=\"{tool}\">{given}</execute>\n  </step>\n"
        )
    };
    let hook = |id: &str, event: &str, when: &str| {
        format!(
            "<hook id=\"{id}\" event=\"{event}\">{when}<execute item_type=\"tool\">{WRITE}</execute><inputs><path>out/{name}-{id}.txt</path><content>${{cost.turns}} turns</content></inputs></hook>"
        )
    };
    let hooks = hook("second", "after_step", "<when>cost.turns eq 2</when>")
        + &hook("end", "after_complete", "");
    let steps: String = calls.iter().enumerate().map(step).collect();
    format!(
        "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n    <description>Does it.</description>\n    <limits turns=\"40\" tokens=\"100000\"/>\n    <permissions><execute><tool>rye.file-system.write</tool><tool>rye.agent.threads.*</tool><directive>notes.*</directive></execute></permissions>\n    <hooks>{hooks}</hooks>\n  </metadata>\n</directive>\n```\n\n<process>\n{steps}</process>\n"
    )
}

/// A thread that waits for a child with a child of its own, starts two more beside itself, and writes between.
fn put_tree(session: &Session) {
    let child =
        |name: &'static str| -> (&str, Vec<(&str, &str)>) { (SPAWN, vec![("directive", name)]) };
    let beside = |name| (SPAWN, vec![("directive", name), ("async", "true")]);
    let write = |path: &'static str| (WRITE, vec![("path", path), ("content", path)]);
    let rows = [
        ("leaf", vec![write("out/a.txt"), write("out/b.txt"), write("out/c.txt")]),
        ("branch", vec![write("out/d.txt"), child("notes/leaf"), write("out/e.txt")]),
        (
            "tree",
            vec![
                write("out/f.txt"),
                child("notes/branch"),
                beside("notes/leaf"),
                write("out/g.txt"),
                beside("notes/branch"),
                write("out/h.txt"),
            ],
        ),
    ];
    for (name, calls) in &rows {
        let calls: Vec<Call<'_>> =
            calls.iter().map(|(tool, given)| (*tool, given.as_slice())).collect();
        let file = format!(".ai/directives/notes/{name}.md");
        session.put(&file, &calling(name, &calls));
        let signed = session.rye(&format!("sign {file}"));
        assert!(signed.ends_with("exit 0\n"), "{signed}");
    }
}

/// The folders of the threads of this directive, or of all.
pub(crate) fn folders(session: &Session, directive: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(session.project().join(".ai/threads"));
    let folders = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
    let is_of = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.is_dir() && name.starts_with(directive)
    };
    folders.filter(is_of).collect()
}

/// How much all threads together have recorded.
fn recorded(session: &Session) -> u64 {
    let length =
        |path: &PathBuf| fs::metadata(path.join("transcript.jsonl")).map_or(0, |it| it.len());
    folders(session, "").iter().map(length).sum()
}

/// Every thread of the tree has ended as it should, did what it should, and gave back the money that was set aside for it.
fn check_tree(session: &Session, at: u64) {
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let text = fs::read_to_string(session.project().join(format!("out/{name}.txt")));
        assert_eq!(text.unwrap(), format!("out/{name}.txt"), "at {at}");
    }
    for (name, turns) in [("leaf", 4), ("branch", 4), ("tree", 7)] {
        let read = |id| fs::read_to_string(session.project().join(format!("out/{name}-{id}.txt")));
        assert_eq!(read("second").unwrap(), "2 turns", "at {at}: {name}");
        assert_eq!(read("end").unwrap(), format!("{turns} turns"), "at {at}: {name}");
    }
    let (trees, branches, leaves) =
        (folders(session, "tree-"), folders(session, "branch-"), folders(session, "leaf-"));
    assert_eq!((trees.len(), branches.len(), leaves.len()), (1, 2, 3), "at {at}");
    for folder in trees.iter().chain(&branches).chain(&leaves) {
        let transcript = fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
        let records = records(&transcript);
        let is_complete = |record: &Value| record["event"] == "thread_complete";
        assert!(records.iter().any(is_complete), "at {at}: {transcript}");
        let limits = &records[0]["payload"]["limits"];
        let cap = limits["spend_nanos"]["at_most"].as_u64().unwrap();
        let money = Money::of(&records);
        let folder = folder.display();
        assert_eq!((money.reserved, money.shares.len()), (0, 0), "at {at}: {folder}");
        assert!(money.taken() <= cap, "at {at}: {folder}: {money:?}");
    }
}

/// The same with threads that start threads, all of which have hooks: whichever of them was under way, all go on with the
/// first.
#[test]
fn a_killed_tree_is_resumed() {
    let session = Session::new();
    // The examples' key may not grant that threads are started.
    let generated = session.rye("keys generate");
    assert!(generated.ends_with("exit 0\n"), "{generated}");
    put_tree(&session);
    let kills: u64 = KILLS.map_or(if is_whole() { 3 } else { 1 }, |kills| kills.parse().unwrap());
    let mut numbers = Numbers(0x2545_F491_4F6C_DD1D);
    let (mut interrupted, mut done) = (0, 0);
    while interrupted < kills {
        drop(fs::remove_dir_all(session.project().join(".ai/threads")));
        drop(fs::remove_dir_all(session.project().join("out")));
        let length = numbers.next(110_000);
        let ended = killed(&session, "notes/tree", || length <= recorded(&session));
        let first = folders(&session, "tree-");
        let Some(first) = first.first().filter(|first| has_record(first)) else {
            continue;
        };
        if ended {
            done += 1;
            assert!(done < 50 + kills, "trees end before they can be killed");
            check_tree(&session, length);
            continue;
        }
        interrupted += 1;
        let first = first.file_name().unwrap().to_str().unwrap();
        let resumed = session.rye(&format!("resume {first} --trust TRUST"));
        assert!(
            resumed.ends_with("exit 0\n") || resumed.contains("is `completed`"),
            "at {length}: {resumed}"
        );
        check_tree(&session, length);
        let verified = session.rye("threads verify --trust TRUST");
        assert_eq!(verified.matches("ok       ").count(), 6, "at {length}: {verified}");
        session.export_threads(&format!("killed-{interrupted}"));
        progress("trees of six, and their money", interrupted, kills);
    }
}
