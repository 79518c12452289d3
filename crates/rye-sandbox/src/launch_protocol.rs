//! The words and exit codes between this program and its launcher.

/// The first argument of the launcher.
pub(crate) const LAUNCH: &str = "--rye-launch";

/// The role that watches a program with everything that it starts, and ends it.
pub(crate) const SUPERVISE: &str = "supervise";

/// The role that gives up privileges and becomes the program, inside of bubblewrap, which can only start
/// programs.
#[cfg(target_os = "linux")]
pub(super) const CONFINE: &str = "confine";

/// The launcher's exit code if the program could not be confined or started this time.
#[cfg(target_os = "linux")]
pub(super) const FAILED: u8 = 125;

/// The launcher's exit code if this machine does not support the sandbox.
pub(crate) const UNSUPPORTED: u8 = 126;

/// Returns the launcher's exit code. A fault is written to standard error.
#[cfg(target_os = "linux")]
pub(super) fn code(done: Result<u8, super::fault::Fault>) -> u8 {
    done.unwrap_or_else(|fault| {
        complain(&fault.to_string());
        if fault.is_lasting { UNSUPPORTED } else { FAILED }
    })
}

#[expect(clippy::print_stderr, reason = "standard error is the only way out of the launcher")]
pub(super) fn complain(message: &str) {
    eprintln!("rye: {message}");
}
