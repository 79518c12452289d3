//! The descendants of this process, direct and indirect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The longest time for stopping processes that multiply.
const LONGEST: Duration = Duration::from_secs(5);

/// Kills all descendants until `is_childless` returns `true`. `is_childless` collects those that ended.
///
/// Orphans are included, because this process adopts them. A process cannot evade this by leaving its session
/// or group. While there is a child, a listing may have missed a process.
pub(super) fn kill_all(mut is_childless: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_childless() && begun.elapsed() < LONGEST {
        let mut stopped = BTreeSet::new();
        // A stopped process starts no others.
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
            #[expect(clippy::disallowed_methods, reason = "a supervisor runs no tasks")]
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn send(pid: i32, signal: Signal) {
    // The process may have ended already.
    let _gone = kill(Pid::from_raw(pid), signal);
}

/// Returns the descendants that have not ended.
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

/// Returns the id, the state and the parent of each process.
fn processes() -> impl Iterator<Item = (i32, char, i32)> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let (state, parent) = state_and_parent(&std::fs::read(entry.path().join("stat")).ok()?)?;
        Some((pid, state, parent))
    })
}

/// Reads the fields after the name. The name may contain any character, including parentheses.
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
