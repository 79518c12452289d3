//! Figures of the system about this process.

use std::time::Duration;

/// Returns the processor time of all threads of this process.
pub(crate) fn cpu() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = time.tv_sec.unsigned_abs();
        let nanos = time.tv_nsec.unsigned_abs();
        Duration::from_secs(seconds) + Duration::from_nanos(nanos)
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

/// Returns the peak memory of this process in KiB, if the system reports it.
pub(crate) fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Raises the limit on open files. A conversation has a connection and two files open, so a thousand need
/// more than the default of most shells.
pub(crate) fn open_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        // If this fails, fewer conversations can run at once.
        let _few_at_once = setrlimit(Resource::Nofile, raised);
    }
}
