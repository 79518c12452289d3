//! The files that a program sees: everything as it is and read-only, keys covered, the project and a folder for temporary
//! files open.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::libc::{O_CLOEXEC, O_PATH};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};

use super::confine::DEVICES;
use super::fault::Fault;
use super::mount_table::{Mounted, mounted};
use super::{Home, Plan, guards};

/// Where programs expect a folder for temporary files.
pub(super) const TEMPORARY: &str = "/tmp";

/// How many numbers of processes the system keeps for itself in each namespace.
const RESERVED: u64 = 300;

/// Makes them. Returns the place of a guard that found nothing there any more, if there is one.
pub(super) fn make(plan: &Plan) -> Result<Option<PathBuf>, Fault> {
    if plan.project.parent().is_none() {
        return Err(Fault::new("keep the rest read-only", "the project is the whole machine"));
    }
    unshare(CloneFlags::CLONE_NEWNS).map_err(Fault::at_call("make a namespace of mounts"))?;
    // A folder that is entered now would lead to what is covered below, for everybody who sees this process.
    std::env::set_current_dir("/").map_err(Fault::at("leave the folder"))?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    call(None, Path::new("/"), None, private, None)?;
    let sources = Sources::open(plan)?;
    temporary(&sources)?;
    devices(&sources)?;
    plan.homes_to_cover().try_for_each(cover_home)?;
    sources.shown.iter().try_for_each(|(path, source)| place(source, path))?;
    plan.homes_to_cover().try_for_each(link_in_home)?;
    if let Some((path, source)) = &sources.launcher {
        place(source, path)?;
    }
    place(&sources.project, &plan.project)?;
    place(&sources.scratch, &plan.scratch)?;
    place(&sources.temporary, &plan.temporary)?;
    processes(plan)?;
    if let Some(place) = guards::make(&plan.layout)? {
        return Ok(Some(place));
    }
    plan.hidden.iter().try_for_each(|path| cover(path, &sources.null))?;
    read_only(plan)?;
    Ok(None)
}

/// What is mounted elsewhere, opened while it can still be reached.
struct Sources {
    /// The launcher itself, should it lie among temporary files.
    launcher: Option<(PathBuf, File)>,
    /// What is shown of the home folder.
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
        let launcher = std::env::current_exe().ok().filter(|path| path.starts_with(TEMPORARY));
        let opened = |path: PathBuf| Ok((path.clone(), handle(&path)?));
        let shown = plan.homes_to_cover().flat_map(|home| home.shown.clone());
        Ok(Self {
            // What is gone by now is not shown.
            shown: shown.filter_map(|path| Some((path.clone(), handle(&path).ok()?))).collect(),
            launcher: launcher.map(opened).transpose()?,
            project: handle(&plan.project)?,
            scratch: handle(&plan.scratch)?,
            temporary: handle(&plan.temporary)?,
            null: handle(Path::new("/dev/null"))?,
            devices: DEVICES.into_iter().map(device).collect::<Result<_, Fault>>()?,
        })
    }
}

fn handle(path: &Path) -> Result<File, Fault> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(O_PATH | O_CLOEXEC).open(path);
    opened.map_err(Fault::at(&format!("open `{}`", path.display())))
}

/// A device that every machine has. One without it has no such sandbox.
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

/// Mounts what was opened, where it may have been covered in between.
fn place(source: &File, target: &Path) -> Result<(), Fault> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", source.as_raw_fd()));
    if !target.exists() {
        let is_folder = source.metadata().is_ok_and(|it| it.is_dir());
        stand_in(target, is_folder).map_err(Fault::at(&format!("make `{}`", target.display())))?;
    }
    call(Some(&path), target, None, MsFlags::MS_BIND | MsFlags::MS_REC, None)
}

/// Makes something to mount over, which is only needed below a folder for temporary files that is new and empty.
fn stand_in(target: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return fs::create_dir_all(target);
    }
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create(target).map(drop)
}

/// Puts the call's own folder where programs expect one that they can write.
fn temporary(sources: &Sources) -> Result<(), Fault> {
    let usual = Path::new(TEMPORARY);
    if usual.is_dir() { place(&sources.temporary, usual) } else { Ok(()) }
}

/// Puts an empty folder over a home folder.
fn cover_home(home: &Home) -> Result<(), Fault> {
    // A home folder among temporary files or shared memory was covered with them.
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

/// Only devices that give nothing of the machine away.
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

/// The processes of this namespace alone, and no more of them than may be.
fn processes(plan: &Plan) -> Result<(), Fault> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    call(None, Path::new("/proc"), Some("proc"), flags, None)?;
    // Kernels before 6.14 have one number for the machine, which is not ours to change and is read-only or refused.
    let file = Path::new("/proc/sys/kernel/pid_max");
    if is_own_limit() {
        let most = plan.bounds.kernel_processes().saturating_add(RESERVED).to_string();
        fs::write(file, most).map_err(Fault::at("bound the number of processes"))?;
    }
    Ok(())
}

fn is_own_limit() -> bool {
    let release = nix::sys::utsname::uname();
    let Ok(release) = release.as_ref().map(|it| it.release().to_string_lossy().into_owned()) else {
        return false;
    };
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return false };
    (major, minor) >= (6, 14)
}

/// Puts nothing over what is not to be read.
fn cover(path: &Path, null: &File) -> Result<(), Fault> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.is_dir() {
        return place(null, path);
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    call(None, path, Some("tmpfs"), flags, Some("mode=555,size=4k"))
}

/// Makes every mount read-only but those that are to be written, and sees that it worked.
fn read_only(plan: &Plan) -> Result<(), Fault> {
    let mounts = mounted().map_err(Fault::at("read the list of mounts"))?;
    let closed = |one: &&Mounted| !is_open(plan, &one.place) && one.is_reached();
    let closed: Vec<&Mounted> = mounts.iter().filter(closed).collect();
    for one in closed.iter().filter(|one| !one.flags.contains(MsFlags::MS_RDONLY)) {
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | one.flags;
        // Whether it worked is looked at below, for all.
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

/// The system writes to devices whatever the mount says, so that those do not count.
fn is_writable(one: &Mounted) -> bool {
    statvfs(&one.place).is_ok_and(|it| !it.flags().contains(FsFlags::ST_RDONLY))
}

fn is_open(plan: &Plan, place: &Path) -> bool {
    (place.starts_with(&plan.project) && !plan.layout.is_guarded(place))
        || place == plan.temporary
        || place == Path::new(TEMPORARY)
        || place == Path::new("/dev/shm")
}
