//! Facts of the enforcement on a machine, and the promises that follow from them.

use rye_types::SandboxMode;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The newest version of Landlock whose rights are given up. A newer kernel has no more of them.
pub const NEWEST_LANDLOCK: u8 = 6;

/// The version of Landlock that confines signals.
const WITH_SIGNALS: u8 = 6;

/// The version of Landlock that confines the shortening of files.
const WITH_TRUNCATION: u8 = 3;

/// The facts of what is enforced for programs on a machine, as a test of the sandbox found them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Enforcement {
    /// The mode of the sandbox.
    pub mode: SandboxMode,
    /// The version of Landlock whose rights are given up, and 0 if there is none. It is at most
    /// [`NEWEST_LANDLOCK`].
    pub landlock: u8,
    /// `true` if the kernel bounds the processes of a call, so that they do not multiply between two looks.
    pub counts_processes: bool,
}

impl Enforcement {
    /// Creates the facts of a mode, with a version of Landlock that the mode uses.
    #[must_use]
    pub const fn new(mode: SandboxMode, landlock: u8, counts_processes: bool) -> Self {
        let landlock = if matches!(mode, SandboxMode::None) { 0 } else { landlock };
        Self { mode, landlock, counts_processes }
    }

    /// Returns `true` if everything is confined that SPEC 5.6 requires, so that it satisfies `sandbox: required`.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.mode.is_whole() && self.landlock > 0
    }

    /// Returns `true` if a filter refuses what this Landlock cannot confine: shortening of files by their paths.
    pub(crate) const fn filters_truncation(self) -> bool {
        matches!(self.mode, SandboxMode::Landlock) && self.landlock < WITH_TRUNCATION
    }

    /// Returns `true` if a filter refuses what this Landlock cannot confine: signals to other processes.
    pub(crate) const fn filters_signals(self) -> bool {
        matches!(self.mode, SandboxMode::Landlock) && self.landlock < WITH_SIGNALS
    }

    /// Returns `true` if no program breaks the promise here.
    #[must_use]
    pub const fn keeps(self, promise: Promise) -> bool {
        let is_whole = self.mode.is_whole();
        let is_confined = !matches!(self.mode, SandboxMode::None);
        match promise {
            Promise::WriteElsewhere
            | Promise::ChangeUserSpace
            | Promise::ReadKeys
            | Promise::ReadHome
            | Promise::ShareMemory
            | Promise::UseNetwork
            | Promise::ReachServices
            | Promise::SignalProcesses
            | Promise::ReadProcesses
            | Promise::KeepPowers
            // A program that signals other processes ends the launcher, which bounds and ends it.
            | Promise::UseMemory
            | Promise::StayBehind => is_confined,
            Promise::ChangeAttributes
            | Promise::ChangePolicy
            | Promise::ChangeRepositories
            | Promise::MakeRepositories
            | Promise::LockRecords
            | Promise::ListNames
            | Promise::SeeProcesses
            | Promise::MoveProcesses => is_whole,
            Promise::WritePipes => self.landlock > 0,
            Promise::UseProcesses => self.counts_processes,
        }
    }

    /// Returns the gaps, as sentences for the operator: each promise that is not kept.
    #[must_use]
    pub fn gaps(self) -> Vec<&'static str> {
        let open = Promise::ALL.iter().filter(|promise| !self.keeps(**promise));
        open.map(|promise| promise.gap()).collect()
    }

    /// Returns what programs cannot do here although they could in another sandbox, as sentences for the operator.
    #[must_use]
    pub fn limits(self) -> Vec<&'static str> {
        let mut limits = Vec::new();
        if self.filters_signals() {
            limits.push("a program cannot signal the programs that it started");
        }
        if self.filters_truncation() {
            limits.push("a program cannot shorten a file by its path, only an open one");
        }
        if matches!(self.mode, SandboxMode::Landlock) && self.landlock < 2 {
            limits.push("a program cannot move a file to another folder");
        }
        limits
    }
}

/// Something that no program does in a sandbox that keeps the promise.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Promise {
    /// Files outside of the project are written, made or shortened.
    WriteElsewhere,
    /// Named pipes outside of the project are written.
    WritePipes,
    /// The user space or a system root is changed, also where it lies in the project.
    ChangeUserSpace,
    /// Attributes of files outside of the project are changed.
    ChangeAttributes,
    /// The project's policy is changed or made.
    ChangePolicy,
    /// A repository, or a nested project, is changed.
    ChangeRepositories,
    /// A repository, or a nested project, is made that is used later.
    MakeRepositories,
    /// Files that Rye writes are locked.
    LockRecords,
    /// Keys and passwords are read.
    ReadKeys,
    /// The home folder is read.
    ReadHome,
    /// Names in hidden folders are listed.
    ListNames,
    /// More memory is used than the bound.
    UseMemory,
    /// Many times more processes are used than the bound, for a moment.
    UseProcesses,
    /// Shared memory and queues are left behind.
    ShareMemory,
    /// The network is used without permission.
    UseNetwork,
    /// Services of the machine are reached by their sockets.
    ReachServices,
    /// Other processes are seen.
    SeeProcesses,
    /// Other processes are signalled.
    SignalProcesses,
    /// Memory or environment of other processes is read.
    ReadProcesses,
    /// Other processes are scheduled otherwise.
    MoveProcesses,
    /// A process goes on after the call.
    StayBehind,
    /// Powers of root are kept that the project does not need.
    KeepPowers,
}

impl Promise {
    /// All promises, in the order of the manual.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns what a program does that breaks the promise, as a row of the manual.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::WriteElsewhere => "writes, makes or shortens files elsewhere",
            Self::WritePipes => "writes named pipes elsewhere",
            Self::ChangeUserSpace => {
                "changes the user space or a system root, also where it lies in the project"
            }
            Self::ChangeAttributes => "changes modes, times and attributes of your files elsewhere",
            Self::ChangePolicy => {
                "changes or makes configuration, records, keys, the lock and providers of the project"
            }
            Self::ChangeRepositories => {
                "changes a repository of `git` in the project, or an `.ai` folder below the project's own"
            }
            Self::MakeRepositories => "makes one that the next `git` or `rye` uses",
            Self::LockRecords => "locks what `rye` writes, which keeps other runs waiting",
            Self::ReadKeys => "reads keys and passwords",
            Self::ReadHome => "reads the home folder but for toolchains",
            Self::ListNames => "lists the names of files in hidden folders",
            Self::UseMemory => "takes more memory than its bound",
            Self::UseProcesses => "has many times more processes than its bound for a moment",
            Self::ShareMemory => "leaves shared memory and queues behind",
            Self::UseNetwork => "reaches the network, unless the manifest says `network: true`",
            Self::ReachServices => "reaches services of the machine by their sockets",
            Self::SeeProcesses => "sees other processes",
            Self::SignalProcesses => "signals other processes",
            Self::ReadProcesses => "reads the memory or the environment of other processes",
            Self::MoveProcesses => {
                "moves other processes between processors, or changes their scheduling"
            }
            Self::StayBehind => "goes on after its call has ended",
            Self::KeepPowers => "keeps powers of root",
        }
    }

    /// Returns the sentence for the operator where the promise is not kept.
    #[must_use]
    pub const fn gap(self) -> &'static str {
        match self {
            Self::WriteElsewhere => "every file of the user can be written",
            Self::WritePipes => "named pipes of the user outside of the project can be written",
            Self::ChangeUserSpace => "the user space and system roots can be changed",
            Self::ChangeAttributes => {
                "modes, times and attributes of the user's own files outside of the project can be changed"
            }
            Self::ChangePolicy => {
                "the project's `.ai/config`, `.ai/signed`, `.ai/threads`, `.ai/rye.lock` and its providers can be changed, and made where they are not there"
            }
            Self::ChangeRepositories => {
                "every `.git`, and every `.ai` below the project's own, can be changed"
            }
            Self::MakeRepositories => {
                "repositories and `.ai` folders can be made that the next `git` or `rye` uses"
            }
            Self::LockRecords => "files that Rye writes can be locked",
            Self::ReadKeys => "keys and passwords can be read",
            Self::ReadHome => "the home folder can be read",
            Self::ListNames => {
                "names of files can be listed, though not the files read, in the home folder and in folders that hold keys"
            }
            Self::UseMemory => {
                "more memory than the bound can be taken, by a program that ends the launcher of Rye"
            }
            Self::UseProcesses => {
                "a program that multiplies can have many times more processes than its bound for a moment"
            }
            Self::ShareMemory => "shared memory and queues can be left behind",
            Self::UseNetwork => "the network can be used",
            Self::ReachServices => "services of the machine can be reached by their sockets",
            Self::SeeProcesses => "other processes can be seen",
            Self::SignalProcesses => "other processes of the user can be stopped",
            Self::ReadProcesses => "the environment of other processes can be read",
            Self::MoveProcesses => {
                "other processes can be moved between processors, and their scheduling changed"
            }
            Self::StayBehind => {
                "a process may go on after the call, if it ends the launcher of Rye"
            }
            Self::KeepPowers => "the powers of root are kept, if the user has them",
        }
    }
}
