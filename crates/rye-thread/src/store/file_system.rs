//! The file systems on which advisory locks do not exclude processes of other machines.

use std::path::Path;

use super::StoreError;

/// Refuses a folder on a file system that other machines may share, unless the operator declared that only this one
/// uses it.
pub(super) fn check(threads: &Path, is_single_host: bool) -> Result<(), StoreError> {
    match shared_kind(threads) {
        Some(kind) if !is_single_host => {
            Err(StoreError::NetworkFileSystem { path: threads.to_owned(), kind })
        }
        _ => Ok(()),
    }
}

/// Returns the name of the file system of a folder, if it is one that other machines may share, on which no thread is driven
/// unless the operator declares that this machine alone uses it.
#[must_use]
pub fn shared_file_system(folder: &Path) -> Option<&'static str> {
    shared_kind(folder)
}

#[cfg(target_os = "linux")]
fn shared_kind(threads: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(threads).ok()?;
    // The width and the sign of the number differ between architectures. Its low 32 bits do not.
    name_of(u32::try_from(i128::from(found.f_type) & 0xffff_ffff).ok()?)
}

#[cfg(not(target_os = "linux"))]
fn shared_kind(_: &Path) -> Option<&'static str> {
    None
}

/// Returns the name of a file system that other machines may share, by its number (`statfs(2)`).
#[cfg(target_os = "linux")]
fn name_of(number: u32) -> Option<&'static str> {
    let row = SHARED.iter().find(|(it, _)| *it == number);
    row.map(|(_, name)| *name)
}

#[cfg(target_os = "linux")]
const SHARED: [(u32, &str); 6] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
];

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn rule_16_file_systems_that_other_machines_share_are_known_by_number() {
        let local = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630];
        assert!(local.into_iter().all(|number| name_of(number).is_none()));
        let shared = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x6573_5546];
        let names: Vec<&str> = shared.into_iter().filter_map(name_of).collect();
        assert_eq!(names, ["NFS", "SMB", "CIFS", "SMB2", "9p", "FUSE"]);
    }
}
