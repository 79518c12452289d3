//! The error of the confinement.

use std::fmt;
use std::fs;
use std::io;

use nix::libc::{EACCES, EINVAL, ENODEV, ENOSPC, ENOSYS, EOPNOTSUPP, EPERM, EUSERS};

/// The action that failed, with the system's error.
#[derive(Debug)]
pub(super) struct Fault {
    action: String,
    cause: String,
    /// `true` if this machine always refuses the action. Any other fault may be gone at the next start.
    pub(super) is_lasting: bool,
}

impl Fault {
    pub(super) fn new(action: &str, cause: impl fmt::Display) -> Self {
        Self { action: action.to_owned(), cause: cause.to_string(), is_lasting: false }
    }

    /// Creates the fault of an action that this machine does not support.
    pub(super) fn lasting(action: &str, cause: impl fmt::Display) -> Self {
        Self { is_lasting: true, ..Self::new(action, cause) }
    }

    /// Converts the error of an action to a fault.
    pub(super) fn at<E: fmt::Display>(action: &str) -> impl FnOnce(E) -> Self {
        let action = action.to_owned();
        move |cause| Self::new(&action, cause)
    }

    /// Converts the error of a system call to a fault. It is lasting if the kernel does not know the call or
    /// does not allow it.
    pub(super) fn at_call<E: fmt::Display + Into<io::Error>>(
        action: &str,
    ) -> impl FnOnce(E) -> Self {
        let action = action.to_owned();
        move |cause| {
            let said = cause.to_string();
            let is_lasting = is_refusal(cause.into().raw_os_error());
            Self { action, cause: said, is_lasting }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.action, self.cause)
    }
}

/// Returns `true` for errors by which a kernel reports that a call is unknown or not allowed, and never for
/// exhausted resources.
fn is_refusal(errno: Option<i32>) -> bool {
    match errno {
        Some(EPERM | EACCES | ENOSYS | EINVAL | ENODEV | EOPNOTSUPP | EUSERS) => true,
        // The kernel also returns this error if namespaces are switched off.
        Some(ENOSPC) => has_namespaces_off(),
        _ => false,
    }
}

/// Returns `true` if the machine allows no namespaces of some kind.
pub(super) fn has_namespaces_off() -> bool {
    ["user", "pid", "ipc", "uts", "net", "mnt"].iter().any(|kind| {
        let most = fs::read_to_string(format!("/proc/sys/user/max_{kind}_namespaces"));
        most.is_ok_and(|most| most.trim() == "0")
    })
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn only_a_refusal_of_the_kernel_is_lasting() {
        for (errno, is_lasting) in [
            (Errno::EPERM, true),
            (Errno::EACCES, true),
            (Errno::ENOSYS, true),
            (Errno::EINVAL, true),
            (Errno::ENODEV, true),
            (Errno::EAGAIN, false),
            (Errno::EMFILE, false),
            (Errno::ENFILE, false),
            (Errno::ENOMEM, false),
            (Errno::EDQUOT, false),
            (Errno::EIO, false),
            (Errno::ENOENT, false),
            (Errno::ENOSPC, has_namespaces_off()),
        ] {
            let fault = Fault::at_call("make namespaces")(errno);
            assert_eq!(fault.is_lasting, is_lasting, "{fault}");
        }
        assert!(!Fault::at("open")(Errno::EPERM).is_lasting, "another action says nothing of it");
    }
}
