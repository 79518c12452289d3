//! Limits of a call: memory and processes.

use serde::{Deserialize, Serialize};

/// The limits for all processes of a call together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Bounds {
    /// Memory in MiB. A single process may reserve at most twice as much private memory, and 16 times as much
    /// address space.
    pub memory_mib: u64,
    /// The number of simultaneous processes and threads.
    pub processes: u64,
}

impl Default for Bounds {
    /// Returns 4 GiB, and 1,024 processes and threads.
    fn default() -> Self {
        Self { memory_mib: 4096, processes: 1024 }
    }
}

impl Bounds {
    /// Returns the memory limit in bytes.
    pub(crate) const fn memory(self) -> u64 {
        self.memory_mib.saturating_mul(1024 * 1024)
    }

    /// Returns the limit for the private memory of one process. It stops a process that takes memory faster
    /// than the launcher can see.
    #[cfg(target_os = "linux")]
    pub(super) const fn data(self) -> u64 {
        self.memory().saturating_mul(2)
    }

    /// Returns the limit for the address space of one process. Node.js and the JVM reserve 10 GiB and more of
    /// it, and use little.
    #[cfg(target_os = "linux")]
    pub(super) const fn address_space(self) -> u64 {
        self.memory().saturating_mul(16)
    }

    /// Returns the kernel's limit of processes. It is higher than the limit of the call, so that the launcher
    /// can report the excess.
    #[cfg(target_os = "linux")]
    pub(super) const fn kernel_processes(self) -> u64 {
        self.processes.saturating_mul(2)
    }

    /// Returns a hint for the result of a program if its runtime got no more memory or processes from the
    /// kernel.
    pub(crate) fn hint(self, stderr: &str) -> Option<String> {
        let has = |words: &[&str]| {
            stderr.lines().any(|line| words.iter().any(|word| line.contains(word)))
        };
        let of_python = stderr.lines().any(|line| line.split(':').next() == Some("MemoryError"));
        let bound = match (of_python || has(&MEMORY), has(&PROCESSES)) {
            (true, _) => Bound::Memory,
            (false, true) => Bound::Processes,
            (false, false) => return None,
        };
        Some(bound.describe(self))
    }
}

/// The words by which runtimes report that the kernel refused memory: the C library, C++, Rust, Go, Perl,
/// `git`, the JVM and Python. The words of programs with limits of their own, such as graphics cards and
/// buffers, are not among them.
const MEMORY: [&str; 9] = [
    "Cannot allocate memory",
    "Could not reserve enough space",
    "Out of memory in perl",
    "Out of memory!",
    "fatal error: runtime: out of memory",
    "malloc failed",
    "memory allocation of",
    "std::bad_alloc",
    "insufficient memory for the Java Runtime Environment",
];

/// The words by which runtimes report that no more processes can start.
const PROCESSES: [&str; 6] = [
    "Cannot fork",
    "can't start new thread",
    "failed to spawn thread",
    "fork: Resource temporarily unavailable",
    "fork: retry: Resource temporarily unavailable",
    "unable to create native thread",
];

/// One of the [`Bounds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Memory,
    Processes,
}

impl Bound {
    /// Names the limit and the key that raises it.
    pub(super) fn describe(self, bounds: Bounds) -> String {
        let (most, key) = match self {
            Self::Memory => (format!("{} MiB of memory", bounds.memory_mib), "memory_mib"),
            Self::Processes => (format!("{} processes and threads", bounds.processes), "processes"),
        };
        format!(
            "a call gets at most {most}; `{key}` in `config/agent/processes.yaml` of the user space raises that"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_of_too_little_names_the_key_that_raises_it() {
        let bounds = Bounds { memory_mib: 100, processes: 20 };
        for (stderr, expected) in [
            ("MemoryError", Some("100 MiB of memory; `memory_mib`")),
            ("terminate called: std::bad_alloc", Some("100 MiB of memory; `memory_mib`")),
            ("Out of memory!\nAborted", Some("100 MiB of memory; `memory_mib`")),
            ("sh: Cannot fork", Some("20 processes and threads; `processes`")),
            ("fork: Resource temporarily unavailable", Some("20 processes and threads; `proc")),
            ("MemoryError: Unable to allocate 8 GiB", Some("100 MiB of memory; `memory_mib`")),
            ("RuntimeError: can't start new thread", Some("20 processes and threads; `processes`")),
            ("read: Resource temporarily unavailable", None),
            ("torch.cuda.OutOfMemoryError: CUDA out of memory", None),
            ("There is not enough space on the disk", None),
            ("Error: EAGAIN", None),
            ("no such file", None),
            ("", None),
        ] {
            let hint = bounds.hint(stderr);
            assert_eq!(hint.is_some(), expected.is_some(), "{stderr}: {hint:?}");
            assert!(hint.unwrap_or_default().contains(expected.unwrap_or_default()), "{stderr}");
        }
    }
}
