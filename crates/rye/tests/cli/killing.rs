//! Programs that are killed while they run a thread.

use std::fs;
use std::process::{Command, Stdio};

use crate::session::Session;

/// How many programs are killed; `RYE_KILLS` in the environment of the build says another number.
const KILLS: Option<&str> = option_env!("RYE_KILLS");

const STEPS: usize = 20;

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
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Killed when its transcript has grown to some random length, a thread is resumed, killed again, and then ends as if
/// nothing had happened.
#[test]
#[expect(clippy::disallowed_methods, reason = "what is killed has to be a program")]
fn a_killed_thread_is_resumed() {
    let session = Session::new();
    session.put(".ai/directives/notes/many.md", &writer());
    let signed = session.rye("sign .ai/directives/notes/many.md --key KEY");
    assert!(signed.ends_with("exit 0\n"), "{signed}");
    let threads = session.project().join(".ai/threads");
    let kills: u64 = KILLS.map_or(6, |kills| kills.parse().unwrap());
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let (mut interrupted, mut done) = (0, 0);
    while interrupted < kills {
        drop(fs::remove_dir_all(&threads));
        drop(fs::remove_dir_all(session.project().join("out")));
        let length = numbers.next(60_000);
        let trust = session.trust();
        let mut child = Command::new(env!("CARGO_BIN_EXE_rye"))
            .args(["run", "notes/many", "--provider", "steps", "--trust", &trust])
            .current_dir(session.project())
            .env_clear()
            .env("HOME", session.home())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while child.try_wait().unwrap().is_none() && session.recorded() < length {
            std::thread::yield_now();
        }
        drop(child.kill());
        let ended = child.wait().unwrap();
        if !session.has_record() {
            continue;
        }
        if ended.success() {
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
    }
}
