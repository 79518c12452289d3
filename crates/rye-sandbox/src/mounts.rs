//! The mounts of a program: all files read-only, secrets covered, and the project and a temporary folder
//! writable.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::libc::{O_CLOEXEC, O_PATH};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};

use super::call_folder::KnownFolder;
use super::fault::Fault;
use super::launcher::by_number;
use super::mount_table::{Mount, list_mounts};
use super::plan::TEMPORARY;
use super::{Home, Plan, guards};

/// The devices that every program may use.
pub(super) const DEVICES: [&str; 5] = ["full", "null", "random", "urandom", "zero"];

/// The number of process ids that the kernel reserves in each namespace.
const RESERVED: u64 = 300;

/// Makes the mounts. Returns the path of a guard whose target is gone, if there is one.
pub(super) fn make(plan: &Plan) -> Result<Option<PathBuf>, Fault> {
    if plan.project().parent().is_none() {
        return Err(Fault::new("keep the rest read-only", "the project is the whole machine"));
    }
    unshare(CloneFlags::CLONE_NEWNS).map_err(Fault::at_call("make a namespace of mounts"))?;
    // The working directory could lead every process that sees this one into a covered folder.
    std::env::set_current_dir("/").map_err(Fault::at("leave the folder"))?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    call(None, Path::new("/"), None, private, None)?;
    let sources = Sources::open(plan)?;
    temporary(&sources)?;
    devices(&sources)?;
    plan.homes_to_cover().try_for_each(cover_home)?;
    sources.shown.iter().try_for_each(|(path, source)| place(source, path))?;
    plan.homes_to_cover().try_for_each(link_in_home)?;
    place(&sources.project, plan.project())?;
    place(&sources.scratch, plan.scratch.path())?;
    place(&sources.temporary, &plan.temporary())?;
    processes(plan)?;
    if let Some(place) = guards::make(&plan.layout)? {
        return Ok(Some(place));
    }
    plan.hidden.iter().try_for_each(|path| cover(path, &sources.null))?;
    read_only(plan)?;
    Ok(None)
}

/// The files to mount elsewhere, opened while they can still be reached.
struct Sources {
    /// The visible parts of home folders.
    shown: Vec<(PathBuf, File)>,
    project: File,
    scratch: File,
    temporary: File,
    null: File,
    devices: Vec<(&'static str, File)>,
}

impl Sources {
    fn open(plan: &Plan) -> Result<Self, Fault> {
        let device = |name| Ok((name, device(name)?));
        let shown = plan.homes_to_cover().flat_map(|home| home.shown.clone());
        Ok(Self {
            // A path that is gone is left out.
            shown: shown.filter_map(|path| Some((path.clone(), handle(&path).ok()?))).collect(),
            project: open_known(&plan.project)?,
            scratch: open_known(&plan.scratch)?,
            temporary: handle(&plan.temporary())?,
            null: handle(Path::new("/dev/null"))?,
            devices: DEVICES.into_iter().map(device).collect::<Result<_, Fault>>()?,
        })
    }
}

/// Opens a folder of the caller, unless another one was put in its place.
fn open_known(folder: &KnownFolder) -> Result<File, Fault> {
    folder.open().map_err(Fault::at("find a folder of the caller"))
}

fn handle(path: &Path) -> Result<File, Fault> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(O_PATH | O_CLOEXEC).open(path);
    opened.map_err(Fault::at(&format!("open `{}`", path.display())))
}

/// Opens a device. A machine without it does not support this sandbox.
fn device(name: &str) -> Result<File, Fault> {
    let path = Path::new("/dev").join(name);
    match path.exists() {
        true => handle(&path),
        false => Err(Fault::lasting(&format!("open `{}`", path.display()), "it is not there")),
    }
}

fn call(
    source: Option<&Path>,
    target: &Path,
    kind: Option<&str>,
    flags: MsFlags,
    data: Option<&str>,
) -> Result<(), Fault> {
    mount(source, target, kind, flags, data)
        .map_err(Fault::at_call(&format!("mount `{}`", target.display())))
}

/// Mounts an open file. Its own path may be covered by now.
fn place(source: &File, target: &Path) -> Result<(), Fault> {
    let path = by_number(source);
    if !target.exists() {
        let is_folder = source.metadata().is_ok_and(|it| it.is_dir());
        stand_in(target, is_folder).map_err(Fault::at(&format!("make `{}`", target.display())))?;
    }
    call(Some(&path), target, None, MsFlags::MS_BIND | MsFlags::MS_REC, None)
}

/// Makes an empty target for a mount. This is only needed below a new temporary folder.
fn stand_in(target: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return fs::create_dir_all(target);
    }
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create(target).map(drop)
}

/// Mounts the call's own folder as the usual temporary folder.
fn temporary(sources: &Sources) -> Result<(), Fault> {
    let usual = Path::new(TEMPORARY);
    if usual.is_dir() { place(&sources.temporary, usual) } else { Ok(()) }
}

/// Covers a home folder with an empty one.
fn cover_home(home: &Home) -> Result<(), Fault> {
    // A home folder in the temporary folder or in shared memory was covered with it.
    fs::create_dir_all(&home.folder)
        .map_err(Fault::at(&format!("make `{}`", home.folder.display())))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    call(None, &home.folder, Some("tmpfs"), flags, Some("mode=755,size=1m"))
}

fn link_in_home(home: &Home) -> Result<(), Fault> {
    home.links.iter().try_for_each(|link| {
        let made = link.path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| symlink(&link.place, &link.path))
            .map_err(Fault::at(&format!("make `{}`", link.path.display())))
    })
}

/// Mounts a new `/dev` with devices that reveal nothing about the machine.
fn devices(sources: &Sources) -> Result<(), Fault> {
    let folder = Path::new("/dev");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    call(None, folder, Some("tmpfs"), flags, Some("mode=755,size=64k"))?;
    for (name, source) in &sources.devices {
        let target = folder.join(name);
        place(source, &target)?;
    }
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{target}"), folder.join(name))
            .map_err(Fault::at("make a device"))?;
    }
    let shared = folder.join("shm");
    fs::create_dir(&shared).map_err(Fault::at("make a device"))?;
    let flags = flags | MsFlags::MS_NODEV;
    call(None, &shared, Some("tmpfs"), flags, Some("mode=1777,size=64m"))
}

/// Mounts `/proc` for the processes of this namespace, and limits their number.
fn processes(plan: &Plan) -> Result<(), Fault> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    call(None, Path::new("/proc"), Some("proc"), flags, None)?;
    // Before 6.14, the limit applies to the whole machine and cannot be changed here.
    let file = Path::new("/proc/sys/kernel/pid_max");
    if is_own_limit() {
        let most = plan.bounds.kernel_processes().saturating_add(RESERVED).to_string();
        fs::write(file, most).map_err(Fault::at("bound the number of processes"))?;
    }
    Ok(())
}

pub(crate) fn is_own_limit() -> bool {
    let release = nix::sys::utsname::uname();
    let Ok(release) = release.as_ref().map(|it| it.release().to_string_lossy().into_owned()) else {
        return false;
    };
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return false };
    (major, minor) >= (6, 14)
}

/// Covers a hidden path with an empty file or folder.
fn cover(path: &Path, null: &File) -> Result<(), Fault> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.is_dir() {
        return place(null, path);
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    call(None, path, Some("tmpfs"), flags, Some("mode=555,size=4k"))
}

/// Makes every mount read-only and without devices except for the writable ones, and checks that it is read-only.
fn read_only(plan: &Plan) -> Result<(), Fault> {
    let mounts = list_mounts().map_err(Fault::at("read the list of mounts"))?;
    let closed = |one: &&Mount| !is_open(plan, &one.place) && one.is_reached();
    let closed: Vec<&Mount> = mounts.iter().filter(closed).collect();
    for one in &closed {
        let wanted = MsFlags::MS_RDONLY | without_devices(plan, &one.place);
        if one.flags.contains(wanted) {
            continue;
        }
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | wanted | one.flags;
        // The result is checked below, for all mounts.
        let _told = call(None, &one.place, None, flags, None);
    }
    let writable = closed.into_iter().find(|one| is_writable(one));
    match writable {
        None => Ok(()),
        Some(one) => Err(Fault::new(
            "keep the rest read-only",
            format!("`{}` stays writable", one.place.display()),
        )),
    }
}

/// Returns the flag by which no device can be opened on a mount. A read-only mount does not keep programs from a disk. The
/// devices of programs lie below `/dev`, and one of them covers hidden files.
fn without_devices(plan: &Plan, place: &Path) -> MsFlags {
    match place.starts_with("/dev") || plan.hidden.iter().any(|hidden| hidden == place) {
        true => MsFlags::empty(),
        false => MsFlags::MS_NODEV,
    }
}

/// Returns `true` if the mount is writable. Devices do not count, because the kernel writes to them on every
/// mount.
fn is_writable(one: &Mount) -> bool {
    statvfs(&one.place).is_ok_and(|it| !it.flags().contains(FsFlags::ST_RDONLY))
}

fn is_open(plan: &Plan, place: &Path) -> bool {
    (place.starts_with(plan.project()) && !plan.layout.is_guarded(place))
        || place == plan.temporary()
        || place == Path::new(TEMPORARY)
        || place == Path::new("/dev/shm")
}
