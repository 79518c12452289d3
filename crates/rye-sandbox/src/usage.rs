//! Measurement of the memory and the processes of a running call.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use super::bounds::{Bound, Bounds};
use super::control_group::ControlGroup;
use super::descendants;

/// The longest time between two measurements.
const PAUSE: Duration = Duration::from_millis(40);

/// The time between the measurements in a row that an excess takes.
const AGAIN: Duration = Duration::from_millis(5);

/// The number of measurements in a row that an excess takes.
const LOOKS: u32 = 3;

/// The KiB by which two looks at one memory may differ.
const TOLERANCE: u64 = 256;

/// The MiB per millisecond that processes cannot exceed.
const FASTEST: u64 = 20;

/// The KiB of mapped files that are subtracted from the peak of a process that was never measured: its
/// program and libraries.
const LIBRARIES: u64 = 64 * 1024;

/// The measurement of all descendants of this process.
#[derive(Debug)]
pub(super) struct UsageWatch {
    bounds: Bounds,
    /// The control group that limits the call, if there is one.
    group: Option<ControlGroup>,
    next: Instant,
    exceeded: Option<Bound>,
    /// The largest measured size of the files that one process has mapped, in KiB.
    mapped: u64,
    /// The number of measurements in a row at which processes had too much memory together.
    looks_over: u32,
}

impl UsageWatch {
    pub(super) fn new(bounds: Bounds, group: Option<ControlGroup>) -> Self {
        let next = Instant::now();
        let mut watch = Self { bounds, group, next, exceeded: None, mapped: 0, looks_over: 0 };
        watch.next += watch.pause();
        watch
    }

    /// Returns the time between two measurements. It is too short for processes to reach the memory limit
    /// within it, so that a measurement sees their mapped files.
    pub(super) fn pause(&self) -> Duration {
        let shortest = Duration::from_millis((self.bounds.memory_mib / FASTEST).max(1));
        if self.looks_over > 0 {
            return AGAIN.min(shortest);
        }
        if self.group.is_some() { PAUSE } else { PAUSE.min(shortest) }
    }

    /// Measures again if it is time to, and returns `true` if a limit has been exceeded.
    pub(super) fn look(&mut self) -> bool {
        if self.exceeded.is_none() && Instant::now() >= self.next {
            self.exceeded = self.find();
            self.next = Instant::now() + self.pause();
        }
        self.exceeded.is_some()
    }

    /// Returns the limit that was exceeded, even since the last measurement.
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
        let usages = descendants().into_iter().filter_map(|id| Some((id, Usage::of(id)?)));
        let usages: Vec<(i32, Usage)> = usages.collect();
        let threads = usages.iter().map(|(_, usage)| usage.threads).sum::<u64>();
        if threads > self.bounds.processes {
            return Some(Bound::Processes);
        }
        let mapped = usages.iter().map(|(_, usage)| usage.mapped).max();
        self.mapped = self.mapped.max(mapped.unwrap_or(0));
        (self.is_sum_over(&usages) || self.is_peak_over()).then_some(Bound::Memory)
    }

    /// Returns `true` if processes have too much memory together, at some measurements in a row.
    ///
    /// The processes need not be the same ones: memory can be handed on to children without end. A look can take the memory
    /// of a process twice while it starts another one, so that one look does not decide.
    fn is_sum_over(&mut self, usages: &[(i32, Usage)]) -> bool {
        let is_over = |part: fn(&Usage) -> u64, lent: &BTreeSet<i32>| {
            let counted = usages.iter().filter(|(id, _)| !lent.contains(id));
            let kib = counted.map(|(_, usage)| part(usage)).sum::<u64>();
            kib.saturating_mul(1024) > self.bounds.memory()
        };
        // The first sum counts shared memory more than once, because it is cheaper to compute.
        let is_over = is_over(|usage| usage.resident, &BTreeSet::new())
            && is_over(Usage::proportional, &with_lent_memory(usages));
        self.looks_over = if is_over { self.looks_over + 1 } else { 0 };
        self.looks_over >= LOOKS
    }

    /// Returns `true` if a process that has ended had more memory than the limit at any time.
    ///
    /// The kernel reports the peak of the children that this process has collected. Mapped files are included
    /// in it. Therefore their largest measured size is subtracted.
    fn is_peak_over(&self) -> bool {
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN).map(|usage| usage.max_rss());
        let peak = ended.ok().and_then(|kib| u64::try_from(kib).ok()).unwrap_or(0);
        let bound = self.bounds.memory() / 1024;
        peak.saturating_sub(self.mapped.max(LIBRARIES.min(bound / 2))) > bound
    }
}

/// Returns the processes whose memory is that of their parent, which waits until they start a program (`vfork`). The system
/// does not tell that from memory of their own. So it is at most one child of each process that waits, with as much memory.
fn with_lent_memory(usages: &[(i32, Usage)]) -> BTreeSet<i32> {
    let mut lenders = BTreeSet::new();
    let is_lent = |(_, usage): &&(i32, Usage)| {
        let parent = usages.iter().find(|(id, _)| *id == usage.parent);
        parent.is_some_and(|(id, parent)| {
            parent.resident.abs_diff(usage.resident) <= TOLERANCE
                && parent.mapped.abs_diff(usage.mapped) <= TOLERANCE
                && !lenders.contains(id)
                && waits(*id)
                && lenders.insert(*id)
        })
    };
    usages.iter().filter(is_lent).map(|(id, _)| *id).collect()
}

/// Returns `true` if a thread of the process waits without being interrupted by signals.
fn waits(id: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let mut states =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    states.any(|status| status.lines().any(|line| line.starts_with("State:\tD")))
}

/// The usage of one process.
#[derive(Debug)]
struct Usage {
    /// The folder of the process in the list of the system, or of a thread that lives.
    folder: PathBuf,
    /// `false` if the thread has ended, whose memory the system reports then no more.
    has_memory: bool,
    parent: i32,
    threads: u64,
    /// The private memory, and that of files in memory, in KiB.
    resident: u64,
    /// The memory of other mapped files, in KiB.
    mapped: u64,
}

impl Usage {
    fn of(id: i32) -> Option<Self> {
        let process = PathBuf::from(format!("/proc/{id}"));
        let found = Self::read(process.clone())?;
        if found.has_memory {
            return Some(found);
        }
        // The first thread has ended. The memory is that of the others.
        let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
        let mut threads = threads.filter_map(|thread| Self::read(thread.path()));
        threads.find(|thread| thread.has_memory).or(Some(found))
    }

    fn read(folder: PathBuf) -> Option<Self> {
        let status = fs::read(folder.join("status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        let resident = ["RssAnon:", "RssShmem:", "VmSwap:"].map(|name| number(&status, name));
        let threads = number(&status, "Threads:").unwrap_or(1);
        let mapped = number(&status, "RssFile:").unwrap_or(0);
        let parent = number(&status, "PPid:").and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
        let has_memory = resident.iter().any(Option::is_some);
        let resident = resident.into_iter().flatten().sum();
        Some(Self { folder, has_memory, parent, threads, resident, mapped })
    }

    /// Returns the memory of the process, with a proportional share of shared memory. If the process does not
    /// reveal its shares, returns all of it.
    fn proportional(&self) -> u64 {
        let Ok(text) = fs::read_to_string(self.folder.join("smaps_rollup")) else {
            return self.resident;
        };
        let shares = ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"].map(|name| number(&text, name));
        match shares {
            [Some(own), Some(shared), swapped] => own + shared + swapped.unwrap_or(0),
            _ => self.resident,
        }
    }
}

/// Returns the number after a name at the start of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the descendants of this process. If the system has lists of children, these are used, because
/// reading all processes of the machine takes longer.
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

/// Returns the children of all threads of a process. A process that is gone has none.
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

    /// The process has ended before the first measurement.
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

    /// Memory that wanders from process to process counts as long as it is there.
    #[test]
    fn memory_counts_at_measurements_in_a_row() {
        let all = [(1, 200), (2, 200), (3, 200)];
        let [first, second, third] = all;
        for (looks, expected) in [
            (&[&[first][..], &[first], &[first]][..], false),
            (&[&[first, second], &[first, second]], false),
            (&[&[first, second], &[first, second], &[first, second]], true),
            (&[&[first, second], &[second, third], &[first, third]], true),
            (&[&[first, second], &[first], &[first, third], &[first, third]], false),
        ] {
            let mut watch = UsageWatch::new(Bounds { memory_mib: 300, processes: 60 }, None);
            let last = looks.iter().map(|usages| {
                let usage = |(id, mib): &(i32, u64)| {
                    let folder = PathBuf::from("/nowhere");
                    let resident = mib << 10;
                    let (has_memory, parent, threads, mapped) = (true, 0, 1, 0);
                    (*id, Usage { folder, has_memory, parent, threads, resident, mapped })
                };
                watch.is_sum_over(&usages.iter().map(usage).collect::<Vec<_>>())
            });
            assert_eq!(last.last(), Some(expected));
        }
    }

    #[test]
    fn the_own_process_is_measured() {
        let own = Usage::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.threads >= 1 && own.resident > 100, "{own:?}");
        assert!(own.proportional() > 100, "{own:?}");
        assert!(Usage::of(i32::MAX).is_none());
    }
}
