//! Programs that are stopped for good at every moment at which anything of a thread is on disk, and what a person is told and
//! can do then.

mod camera;
mod moments;
mod scenes;

use std::collections::BTreeSet;
use std::fs;

use rye::types::ThreadState;
use serde_json::Value;

use self::camera::{Left, Shot};
use self::scenes::Scene;
use crate::killing::KILLS;
use crate::money::Money;
use crate::sweep::is_whole;

/// What `rye resume` does with what was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resume {
    /// It writes down the end that is recorded, and tells of it.
    Closes,
    /// It says that nothing more happens.
    Ended,
    /// The thread, or the one that continues it, comes to the end that it would have come to.
    GoesOn,
    /// The same, once somebody has decided.
    Waits,
}

/// What `rye cancel` does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cancel {
    /// It says that nothing more happens.
    Ended,
    /// It ends the thread.
    Ends,
    /// It ends the thread in which the conversation goes on.
    EndsTheNext,
}

/// A state in which threads are found, what `rye threads show` calls it, and what was recorded last.
struct State {
    state: ThreadState,
    shown: &'static str,
    rows: &'static [Row],
}

/// What was recorded last, apart from signatures, and what the commands do then.
struct Row(&'static str, Resume, Cancel);

/// Every state has a row, or this does not compile.
const STATES: [State; ThreadState::ALL.len()] = [
    State {
        state: ThreadState::Cancelled,
        shown: "cancelled",
        rows: &[Row("thread_error", Resume::Ended, Cancel::Ended)],
    },
    State {
        state: ThreadState::Completed,
        shown: "completed",
        rows: &[Row("thread_complete", Resume::Ended, Cancel::Ended)],
    },
    State {
        state: ThreadState::Continued,
        shown: "continued",
        rows: &[
            Row("thread_continued", Resume::GoesOn, Cancel::EndsTheNext),
            Row("thread_continued, next running", Resume::GoesOn, Cancel::EndsTheNext),
            Row("thread_continued, next completed", Resume::Ended, Cancel::Ended),
        ],
    },
    State {
        state: ThreadState::Created,
        shown: "stopped",
        // A thread that has not begun has no record.
        rows: &[],
    },
    State {
        state: ThreadState::Error,
        shown: "error",
        rows: &[Row("thread_error", Resume::Ended, Cancel::Ended)],
    },
    State {
        state: ThreadState::Running,
        shown: "stopped",
        rows: &[
            Row("approval_decided", Resume::GoesOn, Cancel::Ends),
            Row("child_ended", Resume::GoesOn, Cancel::Ends),
            Row("hook_triggered", Resume::GoesOn, Cancel::Ends),
            Row("spawn_child", Resume::GoesOn, Cancel::Ends),
            Row("step_finish", Resume::GoesOn, Cancel::Ends),
            Row("step_start", Resume::GoesOn, Cancel::Ends),
            Row("thread_complete", Resume::Closes, Cancel::Ended),
            Row("thread_resumed", Resume::GoesOn, Cancel::Ends),
            Row("tool_call_result", Resume::GoesOn, Cancel::Ends),
            Row("tool_call_start", Resume::GoesOn, Cancel::Ends),
            Row("user_message", Resume::GoesOn, Cancel::Ends),
        ],
    },
    State {
        state: ThreadState::Suspended,
        shown: "suspended",
        rows: &[
            Row("approval_decided", Resume::GoesOn, Cancel::Ends),
            Row("approval_requested", Resume::Waits, Cancel::Ends),
            Row("thread_error", Resume::Closes, Cancel::Ended),
        ],
    },
];

#[test]
fn each_state_has_the_row_at_its_place() {
    assert_eq!(STATES.iter().map(|row| row.state).collect::<Vec<_>>(), ThreadState::ALL);
}

/// What was recorded last; of a thread that was continued, how the next one stands, too.
fn last(shot: &Shot, thread: &str) -> String {
    let records = shot.records(thread);
    let mut events = records.iter().rev().map(|it| it["event"].as_str().unwrap());
    let last = events.find(|event| *event != "checkpoint").unwrap_or("nothing");
    let Some(next) = shot.next(thread) else { return last.to_owned() };
    match (shot.state(&next), shot.ended(&next)) {
        (None, _) => last.to_owned(),
        (Some(state), Some(end)) if state != end => format!("{last}, next {state}, over"),
        (Some(state), _) => format!("{last}, next {state}"),
    }
}

/// The state and what was recorded last.
type Place = (ThreadState, String);

const PLAYS: [fn() -> Scene; 7] = [
    scenes::works,
    scenes::waits,
    scenes::gives_up,
    scenes::starts_others,
    scenes::grows,
    scenes::fails,
    scenes::cannot_begin,
];

/// Every place in the table is one at which a thread was left.
#[test]
fn no_row_is_about_nothing() {
    let mut found: Vec<Place> = Vec::new();
    for scene in PLAYS.map(|play| play()) {
        let thread = scene.thread.as_str();
        let place = |shot: &Shot| Some((shot.state(thread)?, last(shot, thread)));
        found.extend(scene.shots.iter().filter_map(place));
    }
    for State { state, rows, .. } in &STATES {
        for Row(after, ..) in *rows {
            let is_found = found.iter().any(|(at, last)| at == state && last == after);
            assert!(is_found, "no thread was left `{state}` after `{after}`");
        }
    }
}

// Stopped at any moment, a thread ends as if nothing had happened, or is ended for good: what was settled is not lost, what was
// set aside is given back, and nothing is done again that has a receipt.

#[test]
fn a_thread_that_works() {
    check(&scenes::works());
}

#[test]
fn a_thread_that_waits() {
    check(&scenes::waits());
}

#[test]
fn a_thread_that_is_ended_while_it_waits() {
    check(&scenes::gives_up());
}

#[test]
fn a_thread_that_starts_others() {
    check(&scenes::starts_others());
}

#[test]
fn a_conversation_that_grows() {
    check(&scenes::grows());
}

#[test]
fn a_thread_that_fails() {
    check(&scenes::fails());
}

#[test]
fn a_thread_that_cannot_begin() {
    check(&scenes::cannot_begin());
}

/// Looks at every shot of a scene where many programs are killed. In a whole sweep it looks at one of those with the same threads in
/// the same states, left in the same way at the same place, and else at one of each place and one of each way.
#[track_caller]
fn check(scene: &Scene) {
    let (thread, mut known) = (scene.thread.as_str(), BTreeSet::new());
    let (mut places, mut ways) = (BTreeSet::new(), BTreeSet::new());
    for (number, shot) in scene.shots.iter().enumerate() {
        let Some(state) = shot.state(thread) else {
            check_unrecorded(scene, shot);
            continue;
        };
        let after = last(shot, thread);
        let name = format!("`{state}` after `{after}`, {number}");
        // A record that was written by half is cut off, whatever else there is.
        let states = if shot.left == Left::Torn { Vec::new() } else { shot.states() };
        let is_new = known.insert((after.clone(), shot.left, states));
        let is_first = places.insert((state.as_str(), after.clone())) | ways.insert(shot.left);
        if is_first || (is_new && is_whole()) || KILLS.is_some() {
            check_row(scene, shot, row(state, &after), &name);
        }
    }
}

#[track_caller]
fn row(state: ThreadState, after: &str) -> (&'static str, &'static Row) {
    let found = STATES.iter().find(|it| it.state == state).unwrap();
    let row = found.rows.iter().find(|row| row.0 == after);
    (found.shown, row.unwrap_or_else(|| panic!("no row for `{state}` after `{after}`")))
}

/// Nothing was on record, and nothing was done.
#[track_caller]
fn check_unrecorded(scene: &Scene, shot: &Shot) {
    let unknown = [
        "no thread has run in this project yet",
        "name a thread that exists",
        "holds no whole record",
    ];
    for command in ["threads show", "resume", "cancel"] {
        let told = scene.after(shot, command);
        assert!(unknown.iter().any(|words| told.contains(words)), "{told}");
        assert!(told.ends_with("--- exit 1\n"), "{told}");
    }
}

fn check_row(scene: &Scene, shot: &Shot, (shown, row): (&str, &Row), name: &str) {
    let Row(_, resume, cancel) = row;
    let told = scene.after(shot, "threads show");
    assert!(told.contains(&format!("\nstate      {shown}\n")), "{name}: {told}");
    assert!(told.ends_with("--- exit 0\n"), "{name}: {told}");
    check_resumed(scene, shot, *resume, name);
    rule_22_derived_files_decide_nothing(scene, shot, name);
    check_cancelled(scene, shot, *cancel, name);
}

/// Without `thread.json` of any thread, `transcript.md` and the registry a thread comes to the same end at the same cost. The caller
/// has resumed the thread with them.
#[track_caller]
fn rule_22_derived_files_decide_nothing(scene: &Scene, shot: &Shot, name: &str) {
    if shot.records(scene.thread.as_str()).is_empty() {
        return;
    }
    let with_them = scene.accounts();
    let mut told = scene.after(&shot.without_derived(), "resume");
    if told.ends_with("--- exit 4\n") {
        assert!(scene.now("approve").ends_with("--- exit 0\n"), "{name}");
        told = scene.now("resume");
    }
    assert_eq!(scene.accounts(), with_them, "{name}: {told}");
}

fn check_resumed(scene: &Scene, shot: &Shot, expected: Resume, name: &str) {
    let script = scene.script;
    let mut told = scene.after(shot, "resume");
    let is_decided =
        shot.records(scene.thread.as_str()).iter().any(|it| it["event"] == "approval_decided");
    let asks = match expected {
        Resume::Waits => true,
        Resume::GoesOn => script.asks && !is_decided,
        Resume::Closes | Resume::Ended => false,
    };
    assert_eq!(told.ends_with("--- exit 4\n"), asks, "{name}: {told}");
    if asks {
        assert!(scene.now("approve").ends_with("--- exit 0\n"), "{name}");
        told = scene.now("resume");
    }
    let found = scene.check_over(shot, name);
    // A thread that a limit ended is told the command that raises it, and does nothing either.
    let is_over = ["and nothing more happens in it", "raise the limit, for example with"];
    let has_ended = is_over.iter().any(|words| told.contains(words));
    assert_eq!(has_ended, expected == Resume::Ended, "{name}: {told}");
    let receipts = receipts(shot);
    for file in script.writes {
        let goes_on = matches!(expected, Resume::GoesOn | Resume::Waits);
        let is_due = goes_on && !receipts.contains(*file);
        assert_eq!(scene.family.project().join(file).exists(), is_due, "{name}: {file}: {told}");
    }
    let last = scene.last_of(&found);
    let ends = match expected {
        Resume::Closes => shot.ended(&last),
        Resume::Ended => shot.state(&last),
        Resume::GoesOn | Resume::Waits => Some(script.ends),
    };
    assert_eq!(found.state(&last), ends, "{name}: {told}");
}

fn check_cancelled(scene: &Scene, shot: &Shot, expected: Cancel, name: &str) {
    let told = scene.after(shot, "cancel");
    let found = scene.check_over(shot, name);
    let has_ended =
        told.contains("and nothing more happens in it") && told.ends_with("--- exit 1\n");
    assert_eq!(has_ended, expected == Cancel::Ended, "{name}: {told}");
    assert!(has_ended || told.ends_with("--- exit 0\n"), "{name}: {told}");
    assert_eq!(told.contains(" went on\n"), expected == Cancel::EndsTheNext, "{name}: {told}");
    let last = scene.last_of(&found);
    let ends = match expected {
        Cancel::Ended => shot.ended(&last).or(shot.state(&last)),
        Cancel::Ends | Cancel::EndsTheNext => Some(ThreadState::Cancelled),
    };
    assert_eq!(found.state(&last), ends, "{name}: {told}");
    for file in scene.script.writes {
        assert!(!scene.family.project().join(file).exists(), "{name}: {file}: {told}");
    }
}

/// The files whose writing has a receipt, in whichever thread.
fn receipts(shot: &Shot) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for thread in shot.threads() {
        let records = shot.records(&thread);
        let of = |event: &str| -> Vec<&Value> {
            records.iter().filter(|it| it["event"] == event).map(|it| &it["payload"]).collect()
        };
        let done = of("tool_call_result");
        for start in of("tool_call_start") {
            let has_receipt = done.iter().any(|it| it["call_id"] == start["call_id"]);
            found.extend(
                start["arguments"]["path"].as_str().filter(|_| has_receipt).map(str::to_owned),
            );
        }
    }
    found
}

impl Scene {
    /// What a command says of the thread of which this was left, with no trace of what it wrote.
    fn after(&self, shot: &Shot, command: &str) -> String {
        self.put_back(shot);
        self.now(command)
    }

    fn put_back(&self, shot: &Shot) {
        shot.restore(&self.family.project().join(".ai/threads"));
        self.remove_written();
    }

    fn remove_written(&self) {
        for file in self.script.writes {
            drop(fs::remove_file(self.family.project().join(file)));
        }
    }

    fn now(&self, command: &str) -> String {
        self.family.rye(&format!("{command} {}", self.thread))
    }

    /// The end and the money of each thread by its transcript, and the files that calls have written.
    fn accounts(&self) -> (Vec<(Option<ThreadState>, Money)>, Vec<bool>) {
        let shot = Shot::of(&self.family.project().join(".ai/threads"));
        let began = |thread: &String| !shot.records(thread).is_empty();
        let account = |thread: String| {
            let mut money = Money::of(&shot.records(&thread));
            money.shares.iter_mut().for_each(|(child, _)| child.clear());
            (shot.ended(&thread), money)
        };
        let accounts = shot.threads().into_iter().filter(began).map(account).collect();
        let written = self.script.writes.iter();
        let written = written.map(|file| self.family.project().join(file).exists()).collect();
        (accounts, written)
    }

    /// The last thread of the conversation.
    fn last_of(&self, shot: &Shot) -> String {
        let mut last = self.thread.to_string();
        while let Some(next) = shot.next(&last) {
            last = next;
        }
        last
    }

    /// Every thread has one end; none has taken more than its limit, no call was done twice, and nothing that was settled before is lost.
    #[track_caller]
    fn check_over(&self, before: &Shot, name: &str) -> Shot {
        let shot = Shot::of(&self.family.project().join(".ai/threads"));
        // A folder without one whole record is no thread.
        for thread in shot.threads().into_iter().filter(|thread| shot.state(thread).is_some()) {
            let state = shot.state(&thread).unwrap();
            assert!(state.is_final(), "{name}: {thread}: {state}");
            let records = shot.records(&thread);
            let calls = records.iter().filter(|it| it["event"] == "tool_call_result");
            let calls: Vec<&Value> = calls.map(|it| &it["payload"]["call_id"]).collect();
            let is_again = |place: usize| calls[..place].contains(&calls[place]);
            assert!(!(0..calls.len()).any(is_again), "{name}: {thread}: done twice: {calls:?}");
            let ends = ["thread_complete", "thread_continued", "thread_error"];
            let ends = records.iter().filter(|it| ends.contains(&it["event"].as_str().unwrap()));
            assert!(ends.count() <= 1, "{name}: {thread} ended twice");
            let (was, is) = (Money::of(&before.records(&thread)), Money::of(&records));
            assert!(was.settled <= is.settled + is.reserved, "{name}: {thread}: {was:?} {is:?}");
            assert!(was.children <= is.children, "{name}: {thread}: {was:?} {is:?}");
            let limits = &records[0]["payload"]["limits"];
            let cap = limits["spend_nanos"]["at_most"].as_u64().unwrap();
            assert!(is.taken() <= cap, "{name}: {thread}: {is:?}");
            // The record of an ended child may have been deleted: nothing reads it.
            let told = shot.record(&thread).map(|record| record["limits"].clone());
            assert!(told.is_none_or(|told| told == *limits), "{name}: {thread}: {limits}");
        }
        shot
    }
}
