//! The mounts that this process sees.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use nix::mount::MsFlags;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// A mount, with its place and the flags that it must keep, because another process may have made it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) number: u64,
    /// The numbers of the file system's device, which all its mounts have in common.
    pub(super) device: String,
    /// The folder of the file system that is mounted, as a path from the root of the file system.
    pub(super) root: PathBuf,
    pub(super) place: PathBuf,
    pub(super) flags: MsFlags,
}

impl Mount {
    /// Returns `false` if another mount covers this one, so that no path leads to it.
    ///
    /// Kernels before 5.8 do not report mount ids. There, every mount counts as reachable.
    pub(super) fn is_reached(&self) -> bool {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        match statx(CWD, &self.place, flags, StatxFlags::MNT_ID) {
            Ok(found) if found.stx_mask & StatxFlags::MNT_ID.bits() != 0 => {
                found.stx_mnt_id == self.number
            }
            Ok(_) => true,
            // No path leads there.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => false,
            Err(_) => true,
        }
    }
}

pub(super) fn list_mounts() -> io::Result<Vec<Mount>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    Ok(table.split(|byte| *byte == b'\n').filter_map(row).collect())
}

/// Parses `ID PARENT MAJOR:MINOR ROOT PLACE FLAGS …`.
fn row(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let mut fields = fields.skip(1);
    let device = std::str::from_utf8(fields.next()?).ok()?.to_owned();
    let path = |field| PathBuf::from(OsString::from_vec(unescape(field)));
    let root = path(fields.next()?);
    let place = path(fields.next()?);
    let flags = std::str::from_utf8(fields.next()?).ok()?;
    let flags = flags.split(',').filter_map(flag).collect();
    Some(Mount { number, device, root, place, flags })
}

fn flag(name: &str) -> Option<MsFlags> {
    Some(match name {
        "ro" => MsFlags::MS_RDONLY,
        "nosuid" => MsFlags::MS_NOSUID,
        "nodev" => MsFlags::MS_NODEV,
        "noexec" => MsFlags::MS_NOEXEC,
        "noatime" => MsFlags::MS_NOATIME,
        "nodiratime" => MsFlags::MS_NODIRATIME,
        "relatime" => MsFlags::MS_RELATIME,
        _ => return None,
    })
}

/// Decodes a path, in which spaces and similar characters are a backslash and three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (*first, byte) {
            (b'\\', Some(byte)) => {
                plain.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            (byte, _) => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_flags_are_read() {
        let line = b"28 27 0:25 / /mnt/a\\040b\\134c ro,nosuid,nodev,relatime - tmpfs x ro,size=4k";
        let flags =
            MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_RELATIME;
        assert_eq!(
            row(line),
            Some(Mount {
                number: 28,
                device: "0:25".to_owned(),
                root: PathBuf::from("/"),
                place: PathBuf::from("/mnt/a b\\c"),
                flags
            })
        );
        assert_eq!(row(b""), None);
        assert_eq!(row(b"28 27 0:25 /"), None);
    }
}
