//! A program that can be a launcher: all it needs is to ask first whether it was started as one.
//!
//! A copy under another name behaves as the launcher does on another machine, or in a bad moment: `launcher-no-unshare` is the one of a
//! container that allows no namespaces, `launcher-no-landlock` the one of a kernel without Landlock.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    #[cfg(target_os = "linux")]
    if words.get(1).is_some_and(|word| word == "--rye-launch")
        && let Some(code) = state::enter()
    {
        return code;
    }
    rye_sandbox::launch(&words).unwrap_or(ExitCode::SUCCESS)
}

#[cfg(target_os = "linux")]
mod state {
    #![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a program for tests")]

    use std::process::ExitCode;

    use nix::libc;
    use nix::sys::resource::{Resource, setrlimit};
    use nix::sys::signal::{Signal, raise};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter,
    };

    /// Enters the state that the name of this program says. Returns an exit code if it ends there.
    pub(super) fn enter() -> Option<ExitCode> {
        let path = std::env::current_exe().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        match name.strip_prefix("launcher-").unwrap_or_default() {
            "few-open-files" => setrlimit(Resource::RLIMIT_NOFILE, 5, 5).unwrap(),
            "no-room-for-files" => setrlimit(Resource::RLIMIT_FSIZE, 0, 0).unwrap(),
            "killed" => raise(Signal::SIGKILL).unwrap(),
            "ended-by-a-signal" => raise(Signal::SIGTERM).unwrap(),
            "an-end-without-a-word" => return Some(ExitCode::SUCCESS),
            "another-error" => {
                eprintln!("rye: cannot make a pipe: Too many open files");
                return Some(ExitCode::from(125));
            }
            "no-unshare" => {
                let kinds = [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWPID];
                let clone = kinds.map(|kind| {
                    let bit = u64::from(kind.unsigned_abs());
                    let operator = SeccompCmpOp::MaskedEq(bit);
                    let flag = SeccompCondition::new(0, SeccompCmpArgLen::Qword, operator, bit);
                    SeccompRule::new(vec![flag.unwrap()]).unwrap()
                });
                let rows = [(libc::SYS_unshare, vec![]), (libc::SYS_clone, clone.into())];
                refuse(&rows, libc::EPERM);
                refuse(&[(libc::SYS_clone3, vec![])], libc::ENOSYS);
            }
            "no-landlock" => refuse(&[(libc::SYS_landlock_create_ruleset, vec![])], libc::ENOSYS),
            _ => {}
        }
        None
    }

    /// Makes system calls fail, as a container or an older kernel does.
    fn refuse(rows: &[(i64, Vec<SeccompRule>)], errno: i32) {
        let action = SeccompAction::Errno(errno.unsigned_abs());
        let target = std::env::consts::ARCH.try_into().unwrap();
        let rules = rows.iter().cloned().collect();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, target);
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        nix::sys::prctl::set_no_new_privs().unwrap();
        apply_filter(&program).unwrap();
    }
}
