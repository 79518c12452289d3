//! A program with a thread tree that loses its derived files and is stopped for good, both at random moments.

use std::fs;
use std::process::Stdio;

use super::camera::Shot;
use super::scenes::{self, Scene};
use super::{check_row, last, receipts, row};
use crate::killing::{KILLS, Numbers, folders, progress};
use crate::sweep::is_whole;

/// The number of moments.
fn moments() -> u64 {
    match (KILLS.is_some(), is_whole()) {
        (true, _) => 200,
        (false, true) => 3,
        (false, false) => 1,
    }
}

/// Whatever moment it is, the tree comes to the end and the cost that it would have come to with all files, also if two programs
/// go on with it, or one ends it, at the same time.
#[test]
fn rule_22_a_tree_without_derived_files_is_stopped_at_random_moments() {
    let mut scene = scenes::to_start_others();
    let records = scene.count_whole_run();
    let mut numbers = Numbers(0xD1B5_4A32_D192_ED03);
    let (mut stopped, mut runs) = (0, 0);
    let moments = moments();
    while stopped < moments {
        runs += 1;
        assert!(runs <= 20 + 3 * moments, "programs end before they can be killed");
        let kill = 1 + numbers.next(records);
        let forget = numbers.next(kill);
        let Some(shot) = scene.stop(forget, kill) else { continue };
        let thread = scene.thread.as_str();
        let Some(state) = shot.state(thread) else { continue };
        stopped += 1;
        let after = last(&shot, thread);
        let name = format!(
            "moment {stopped}, forgets after {forget}, killed after {kill}: `{state}` after `{after}`"
        );
        check_row(&scene, &shot, row(state, &after), &name);
        for pair in [["resume", "resume"], ["resume", "cancel"]] {
            check_pair(&scene, &shot, pair, &name);
        }
        progress("trees without derived files", stopped, moments);
    }
}

/// Two programs work on the tree at once: it ends, and nothing happens twice.
#[track_caller]
fn check_pair(scene: &Scene, shot: &Shot, commands: [&str; 2], name: &str) {
    scene.put_back(shot);
    let spawn =
        |command| scene.family.spawned(&format!("{command} {}", scene.thread), Stdio::piped());
    let told = commands.map(spawn).map(|child| scene.family.ended(child));
    let name = format!("{name}, {commands:?} at once: {told:?}");
    scene.check_over(shot, &name);
    let done = receipts(shot);
    for file in scene.script.writes.iter().filter(|file| done.contains(**file)) {
        assert!(!scene.family.project().join(file).exists(), "{name}: {file} again");
    }
}

impl Scene {
    /// Runs the tree to its end, and counts its records.
    fn count_whole_run(&self) -> u64 {
        let run = self.family.run("parent", "");
        assert!(run.ends_with("--- exit 0\n"), "{run}");
        self.count_records()
    }

    fn count_records(&self) -> u64 {
        let mut records = 0;
        for folder in folders(&self.family, "") {
            let text = fs::read(folder.join("transcript.jsonl")).unwrap_or_default();
            records += text.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        }
        records
    }

    /// Runs the tree, deletes the derived files after so many records and kills the program after more; what it left, unless it
    /// ended before.
    fn stop(&mut self, forget: u64, kill: u64) -> Option<Shot> {
        let threads = self.family.project().join(".ai/threads");
        drop(fs::remove_dir_all(&threads));
        self.remove_written();
        let mut run = self.family.started_to("parent", "", Stdio::null());
        let mut has_forgotten = false;
        let mut has_ended = false;
        while !has_ended {
            let records = self.count_records();
            if !has_forgotten && forget <= records {
                forget_derived(&threads);
                has_forgotten = true;
            }
            if kill <= records {
                break;
            }
            has_ended = run.try_wait().unwrap().is_some();
        }
        drop(run.kill());
        run.wait().unwrap();
        if has_ended || !self.family.has_thread_of("parent") {
            return None;
        }
        self.thread = self.family.thread_of("parent").parse().unwrap();
        Some(Shot::of(&threads))
    }
}

/// Deletes the list of threads and what stands beside each transcript.
fn forget_derived(threads: &std::path::Path) {
    let folders = fs::read_dir(threads).into_iter().flatten().map(|entry| entry.unwrap().path());
    for path in folders {
        match path.is_dir() {
            true => drop(fs::remove_file(path.join("thread.json"))),
            false => drop(fs::remove_file(path)),
        }
    }
}
