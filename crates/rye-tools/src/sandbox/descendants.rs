//! Everything that this process started, directly or not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// For how long it is tried to catch up with what multiplies.
const LONGEST: Duration = Duration::from_secs(5);

/// Kills all descendants, until `is_childless` says that none is left; it collects those that ended.
///
/// Orphans are among them, because this process takes them in: it does not help a process to leave its session or its
/// group. While there is a child, something may live that a look at the list has missed.
pub(super) fn kill_all(mut is_childless: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_childless() && begun.elapsed() < LONGEST {
        let mut stopped = BTreeSet::new();
        // What is stopped starts nothing more.
        loop {
            let new: Vec<i32> = living().into_iter().filter(|pid| !stopped.contains(pid)).collect();
            if new.is_empty() || begun.elapsed() >= LONGEST {
                break;
            }
            new.iter().for_each(|pid| send(*pid, Signal::SIGSTOP));
            stopped.extend(new);
        }
        stopped.iter().for_each(|pid| send(*pid, Signal::SIGKILL));
        if !stopped.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn send(pid: i32, signal: Signal) {
    // One that ended in between is what is wanted.
    let _gone = kill(Pid::from_raw(pid), signal);
}

/// The descendants that have not ended.
pub(super) fn living() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let mut ended = BTreeSet::new();
    for (pid, state, parent) in processes() {
        children.entry(parent).or_default().push(pid);
        if matches!(state, 'Z' | 'X') {
            ended.insert(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![own];
    while let Some(parent) = next.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        next.extend(&below);
        found.extend(below.into_iter().filter(|pid| !ended.contains(pid)));
    }
    found
}

/// Id, state and parent of each process.
fn processes() -> impl Iterator<Item = (i32, char, i32)> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let (state, parent) = state_and_parent(&std::fs::read(entry.path().join("stat")).ok()?)?;
        Some((pid, state, parent))
    })
}

/// Reads what follows the name, which may hold any character, parentheses too.
fn state_and_parent(stat: &[u8]) -> Option<(char, i32)> {
    let text = String::from_utf8_lossy(stat);
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::state_and_parent;

    #[test]
    fn a_name_cannot_pass_for_the_fields_after_it() {
        assert_eq!(state_and_parent(b"7 (sh) S 3 7 7 0"), Some(('S', 3)));
        assert_eq!(state_and_parent(b"7 (a) Z 1 (b) R 3 7"), Some(('R', 3)));
        assert_eq!(state_and_parent(b"7 (\xff\n) S 3"), Some(('S', 3)));
        assert_eq!(state_and_parent(b"7 (sh"), None);
    }
}
