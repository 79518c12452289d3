//! The privileges that a process gives up before it becomes the program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, geteuid, setpgid};
use rustix::fs::{CWD, OFlags, ResolveFlags, openat2};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use rye_types::SandboxMode;

use super::fault::Fault;
use super::handover::{SandboxProcess, SetupReport};
use super::mounts::DEVICES;
use super::{Cover, NEWEST_LANDLOCK, Plan, guards, hierarchy, probe, system_calls};

/// Confines this process and replaces it by the program.
pub(super) fn become_program(below: SandboxProcess, program: &[OsString]) -> Result<u8, Fault> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(Fault::at("be bound to the launcher"))?;
    if below.plan.mode == SandboxMode::Bubblewrap {
        // bubblewrap mounts by path.
        for folder in [&below.plan.project, &below.plan.scratch] {
            folder.open().map_err(Fault::at("find a folder of the caller"))?;
        }
    }
    let landlock = confine(&below.plan)?;
    if let Some(attempts) = below.plan.attempts.clone() {
        let plan = below.tell(SetupReport::Complete(landlock))?;
        return probe::probe(&plan, &attempts, landlock);
    }
    let mut command = command(&below.plan, program)?;
    if below.plan.mode.is_whole() {
        // A program that signals or slows down its own group must not reach the launcher.
        let own = Pid::from_raw(0);
        setpgid(own, own).map_err(Fault::at("make a group of processes"))?;
    }
    let plan = below.tell(SetupReport::Complete(landlock))?;
    let error = command.exec();
    Err(Fault::new(&start_of(&plan, command.get_program()), error))
}

/// Returns the action of a failed start for the error. It names the sandbox, which may cover the path of the
/// program.
pub(super) fn start_of(plan: &Plan, program: &OsStr) -> String {
    let start = format!("start `{}`", program.display());
    if plan.mode == SandboxMode::None {
        return start;
    }
    let path = Path::new(program);
    let covered = match Cover::of(plan).reason(path) {
        _ if plan.mode == SandboxMode::Landlock && is_foreign(plan) => {
            ", in which root has no power over the files of another user".to_owned()
        }
        Some(reason) => format!(", which {reason}"),
        None => String::new(),
    };
    format!("{start} in the sandbox `{}`{covered}", plan.mode)
}

/// Returns the command for the program in its working directory.
#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub(super) fn command(plan: &Plan, program: &[OsString]) -> Result<Command, Fault> {
    let (name, arguments) =
        program.split_first().ok_or_else(|| Fault::new("start", "no program"))?;
    let mut command = Command::new(name);
    command.args(arguments).envs(&plan.environment).current_dir(&plan.cwd);
    Ok(command)
}

/// Gives up the privileges that the mode removes. This is irreversible for the process and its children. Returns the
/// version of Landlock whose rights were given up, and 0 if there is none.
pub(super) fn confine(plan: &Plan) -> Result<u8, Fault> {
    // The launcher blocks signals, and its children would inherit that.
    SigSet::all().thread_unblock().map_err(Fault::at("take signals"))?;
    limit(plan)?;
    if plan.mode == SandboxMode::None {
        return Ok(0);
    }
    if plan.mode == SandboxMode::Bubblewrap {
        guards::check(&plan.layout)?;
    }
    prctl::set_no_new_privs().map_err(Fault::at("give up gaining privileges"))?;
    drop_capabilities(plan)?;
    let landlock = restrict_files(plan)?;
    system_calls::refuse(plan, plan.enforcement(landlock))?;
    Ok(landlock)
}

/// Sets the resource limits of the program.
fn limit(plan: &Plan) -> Result<(), Fault> {
    let limits = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, plan.file_bytes),
        (Resource::RLIMIT_NPROC, plan.bounds.kernel_processes()),
        (Resource::RLIMIT_DATA, plan.bounds.data()),
        (Resource::RLIMIT_AS, plan.bounds.address_space()),
    ];
    for (resource, most) in limits {
        let (_, hard) =
            nix::sys::resource::getrlimit(resource).map_err(Fault::at("read limits"))?;
        let most = most.min(hard);
        setrlimit(resource, most, most).map_err(Fault::at("set limits"))?;
    }
    Ok(())
}

/// Drops capabilities. In a project of another user, root keeps those that access to its files needs, if mounts keep it from
/// the files of others.
fn drop_capabilities(plan: &Plan) -> Result<(), Fault> {
    let had = rustix::thread::capabilities(None).map_err(Fault::at("read capabilities"))?;
    let wanted = match plan.mode.is_whole() && is_foreign(plan) {
        true => CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER | CapabilitySet::CHOWN,
        false => CapabilitySet::empty(),
    };
    let kept = had.permitted & wanted;
    if had.effective.contains(CapabilitySet::SETPCAP) {
        for one in CapabilitySet::all().iter().filter(|one| !kept.contains(*one)) {
            // The kernel may not know all of these capabilities. It does not grant the unknown ones either.
            let _unknown = rustix::thread::remove_capability_from_bounding_set(one);
        }
    }
    let inheritable = CapabilitySet::empty();
    let _none = rustix::thread::clear_ambient_capability_set();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })
        .map_err(Fault::at("give up capabilities"))
}

/// Returns `true` if the project belongs to another user.
fn is_foreign(plan: &Plan) -> bool {
    let owner = std::fs::metadata(plan.project()).map(|project| project.uid());
    owner.is_ok_and(|owner| owner != geteuid().as_raw())
}

/// Gives up access to files, and in newer versions of Landlock signals, and returns the version.
fn restrict_files(plan: &Plan) -> Result<u8, Fault> {
    let version = plan.landlock.unwrap_or_else(|| newest(plan.newest_landlock));
    let abi = ABI::from(i32::from(version));
    if abi == ABI::Unsupported {
        // In namespaces, which confine too, Landlock is not required.
        return match plan.mode.is_whole() {
            true => Ok(version),
            false => {
                Err(Fault::lasting("enforce a Landlock ruleset", "this kernel has no Landlock"))
            }
        };
    }
    let no = |action| move |error: landlock::RulesetError| Fault::new(action, error);
    let made = ruleset_of(abi).and_then(Ruleset::create).map_err(no("make a Landlock ruleset"))?;
    let done = rules(plan, abi, made)?.restrict_self();
    match done.map_err(no("enforce a Landlock ruleset"))?.ruleset {
        RulesetStatus::FullyEnforced => Ok(version),
        _ => Err(Fault::new("enforce a Landlock ruleset", "the kernel enforces a part of it")),
    }
}

/// Returns a ruleset for all rights of a version. The kernel has to know them all.
fn ruleset_of(abi: ABI) -> Result<Ruleset, landlock::RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = ruleset.handle_access(AccessFs::from_all(abi))?;
    match Scope::from_all(abi) {
        scope if scope.is_empty() => Ok(ruleset),
        scope => ruleset.scope(scope),
    }
}

/// Returns the newest version that this kernel knows, up to `most`, and 0 if it knows none.
fn newest(most: u8) -> u8 {
    let is_known =
        |version: &u8| ruleset_of(ABI::from(i32::from(*version))).and_then(Ruleset::create).is_ok();
    (1..=most.min(NEWEST_LANDLOCK)).rev().find(is_known).unwrap_or(0)
}

fn rules(plan: &Plan, abi: ABI, set: RulesetCreated) -> Result<RulesetCreated, Fault> {
    let read = AccessFs::from_read(abi);
    let all = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device =
        (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev) & AccessFs::from_all(abi);
    let devices = DEVICES.iter().map(|name| PathBuf::from("/dev").join(name));
    let mut rows: Vec<(PathBuf, _)> = devices.map(|path| (path, device)).collect();
    rows.push((plan.temporary(), all));
    if plan.mode == SandboxMode::Landlock {
        let mut hidden = plan.hidden.clone();
        let shown = plan.homes.iter().flat_map(|home| &home.shown);
        rows.extend(
            shown.flat_map(|path| hierarchy::without(path, &plan.hidden)).map(|path| (path, read)),
        );
        let call = hierarchy::without(plan.scratch.path(), &plan.hidden);
        rows.extend(call.into_iter().map(|path| (path, read)));
        hidden.extend(plan.homes.iter().map(|home| home.folder.clone()));
        hidden.push(PathBuf::from("/dev"));
        let seen = hierarchy::without(&PathBuf::from("/"), &hidden);
        rows.push((PathBuf::from("/"), AccessFs::ReadDir.into()));
        rows.extend(seen.into_iter().map(|path| (path, read)));
        let kept = plan.kept.iter().flat_map(|path| hierarchy::without(path, &plan.hidden));
        rows.extend(kept.map(|path| (path, read)));
        let closed = [&plan.hidden[..], &plan.kept].concat();
        let own = hierarchy::without(plan.project(), &closed);
        rows.extend(own.into_iter().map(|path| (path, all)));
    } else {
        rows.push((PathBuf::from("/"), read));
        rows.push((plan.project().to_owned(), all));
        rows.push((PathBuf::from("/tmp"), all));
        rows.push((PathBuf::from("/dev/shm"), all));
    }
    let project = || plan.project.open().map_err(Fault::at("find the project"));
    project()?;
    let set = rows.into_iter().try_fold(set, |set, (path, access)| {
        // A path that is gone needs no rule.
        let Ok(handle) = open_place(plan, &path) else { return Ok(set) };
        let is_folder = handle.metadata().is_ok_and(|found| found.is_dir());
        let access = if is_folder { access } else { access & AccessFs::from_file(abi) };
        set.add_rule(PathBeneath::new(handle, access))
            .map_err(|error| Fault::new(&format!("give `{}` by Landlock", path.display()), error))
    })?;
    project()?;
    Ok(set)
}

/// Opens a file or folder as a place. Where programs may write beside it, a link that was put in its place is not
/// followed.
fn open_place(plan: &Plan, path: &Path) -> rustix::io::Result<File> {
    let resolve = match plan.mode.is_whole() {
        true => ResolveFlags::empty(),
        false => ResolveFlags::NO_SYMLINKS,
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, rustix::fs::Mode::empty(), resolve).map(File::from)
}
