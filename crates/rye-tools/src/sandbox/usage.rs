//! The memory and the processes that a call takes, seen while it runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use super::bounds::{Bound, Bounds};
use super::control_group::ControlGroup;
use super::descendants;

/// The most time between two looks.
const PAUSE: Duration = Duration::from_millis(40);

/// More MiB than processes take in a millisecond.
const FASTEST: u64 = 20;

/// The most memory of files, in KiB, that is taken off the peak of a process which no look saw: its program and libraries.
const LIBRARIES: u64 = 64 * 1024;

/// The watch over all that descends from this process.
#[derive(Debug)]
pub(super) struct UsageWatch {
    bounds: Bounds,
    /// The group that bounds it already, where there is one.
    group: Option<ControlGroup>,
    next: Instant,
    exceeded: Option<Bound>,
    /// The most memory of files that one process had mapped at a look, in KiB.
    mapped: u64,
}

impl UsageWatch {
    pub(super) fn new(bounds: Bounds, group: Option<ControlGroup>) -> Self {
        let mut watch = Self { bounds, group, next: Instant::now(), exceeded: None, mapped: 0 };
        watch.next += watch.pause();
        watch
    }

    /// The time between two looks. Nothing takes as much as the bound in that time, so that a look sees what processes have mapped.
    pub(super) fn pause(&self) -> Duration {
        let shortest = Duration::from_millis((self.bounds.memory_mib / FASTEST).max(1));
        if self.group.is_some() { PAUSE } else { PAUSE.min(shortest) }
    }

    /// Looks again, unless it has just done so, and returns `true` if a bound was exceeded by now.
    pub(super) fn look(&mut self) -> bool {
        if self.exceeded.is_none() && Instant::now() >= self.next {
            self.exceeded = self.find();
            self.next = Instant::now() + self.pause();
        }
        self.exceeded.is_some()
    }

    /// The bound that was exceeded, also since the last look.
    pub(super) fn exceeded_bound(&self) -> Option<Bound> {
        self.exceeded.or_else(|| match &self.group {
            Some(group) => group.exceeded_bound(),
            None => self.is_peak_over().then_some(Bound::Memory),
        })
    }

    fn find(&mut self) -> Option<Bound> {
        if let Some(group) = &self.group {
            return group.exceeded_bound();
        }
        let usages: Vec<Usage> = descendants().into_iter().filter_map(Usage::of).collect();
        let threads = usages.iter().map(|usage| usage.threads).sum::<u64>();
        if threads > self.bounds.processes {
            return Some(Bound::Processes);
        }
        let mapped = usages.iter().map(|usage| usage.mapped).max();
        self.mapped = self.mapped.max(mapped.unwrap_or(0));
        let resident = usages.iter().map(|usage| usage.resident).sum::<u64>();
        let is_over = |kib: u64| kib.saturating_mul(1024) > self.bounds.memory();
        // Processes that share memory are counted more than once at first, because that is cheaper to know.
        let is_exceeded =
            is_over(resident) && is_over(usages.iter().map(Usage::proportional).sum::<u64>());
        (is_exceeded || self.is_peak_over()).then_some(Bound::Memory)
    }

    /// Returns `true` if a process that has ended had more memory than the bound, be it between two looks.
    ///
    /// The kernel keeps the most of each process, and of each that this one waited for. Mapped files are in that number. So the most
    /// that a look saw of them is taken off.
    fn is_peak_over(&self) -> bool {
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN).map(|usage| usage.max_rss());
        let peak = ended.ok().and_then(|kib| u64::try_from(kib).ok()).unwrap_or(0);
        let bound = self.bounds.memory() / 1024;
        peak.saturating_sub(self.mapped.max(LIBRARIES.min(bound / 2))) > bound
    }
}

/// The usage of one process.
#[derive(Debug)]
struct Usage {
    id: i32,
    threads: u64,
    /// Its own memory and that of files in memory, in KiB.
    resident: u64,
    /// The memory of other files that it has mapped, in KiB.
    mapped: u64,
}

impl Usage {
    fn of(id: i32) -> Option<Self> {
        let status = fs::read(format!("/proc/{id}/status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        let resident = ["RssAnon:", "RssShmem:", "VmSwap:"].map(|name| number(&status, name));
        let threads = number(&status, "Threads:").unwrap_or(1);
        let mapped = number(&status, "RssFile:").unwrap_or(0);
        Some(Self { id, threads, resident: resident.into_iter().flatten().sum(), mapped })
    }

    /// Its share of what it has in common with others; all of it, where the process does not let this be seen.
    fn proportional(&self) -> u64 {
        let Ok(text) = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.id)) else {
            return self.resident;
        };
        let shares = ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"].map(|name| number(&text, name));
        match shares {
            [Some(own), Some(shared), swapped] => own + shared + swapped.unwrap_or(0),
            _ => self.resident,
        }
    }
}

/// Returns the number after a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// The descendants of this process, by the lists of children where the system has them: to look at all processes of the
/// machine takes longer.
fn descendants() -> Vec<i32> {
    if !Path::new("/proc/thread-self/children").exists() {
        return descendants::living();
    }
    let mut found = BTreeSet::new();
    let mut next = children(i32::try_from(std::process::id()).unwrap_or(0));
    while let Some(id) = next.pop() {
        if found.insert(id) {
            next.extend(children(id));
        }
    }
    found.into_iter().collect()
}

/// The children of all threads of a process; one that is gone has none.
fn children(id: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(list: &str) -> Vec<i32> {
    list.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_their_line() {
        let text = "Name:\tRssAnon: 7\nThreads:\t3\nRssAnon:\t     12 kB\nRssShmem:\t x kB\n";
        let found = ["Threads:", "RssAnon:", "RssShmem:", "VmSwap:"].map(|it| number(text, it));
        assert_eq!(found, [Some(3), Some(12), None, None]);
    }

    /// No look saw the process, which had ended before.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
    fn a_process_that_has_ended_counts_with_the_most_that_it_had() {
        let bounds = Bounds { memory_mib: 200, processes: 60 };
        let mut watch = UsageWatch::new(bounds, None);
        assert_eq!(watch.exceeded_bound(), None);
        let mut child = std::process::Command::new("perl");
        child.args(["-e", "my $a = \"x\" x (300 << 20)"]).status().unwrap();
        assert_eq!(watch.exceeded_bound(), Some(Bound::Memory));
        watch.mapped = 500 * 1024;
        assert_eq!(watch.exceeded_bound(), None, "most of it were mapped files");
    }

    #[test]
    fn the_own_process_is_measured() {
        let own = Usage::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.threads >= 1 && own.resident > 100, "{own:?}");
        assert!(own.proportional() > 100, "{own:?}");
        assert!(Usage::of(i32::MAX).is_none());
    }
}
