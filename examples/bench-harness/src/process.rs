//! What the system knows about this process.

use std::time::Duration;

/// The time that processors spent on this process, of all its threads together.
pub(crate) fn cpu() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
        Duration::from_secs(seconds) + Duration::from_nanos(nanos)
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

/// The most memory that it has had, in KiB, where the system tells.
pub(crate) fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// A conversation has a connection and two files open, and a thousand of them more than most shells allow at first.
pub(crate) fn open_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        // Where it is not allowed, few conversations run all the same.
        let _few_at_once = setrlimit(Resource::Nofile, raised);
    }
}
