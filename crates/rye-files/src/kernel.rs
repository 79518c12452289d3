//! The file systems of the kernel, whose files are computed while they are read.

use std::fs::File;
use std::io;

use crate::Refusal;

/// Refuses an opened file that lies in a file system of the kernel.
///
/// Its size says nothing, a read may wait or change something, and no such file is a file of a project.
#[cfg(target_os = "linux")]
pub(crate) fn refuse_kernel(file: &File) -> io::Result<()> {
    let found = rustix::fs::fstatfs(file)?;
    // The width and the sign of the number differ between architectures. Its low 32 bits do not.
    let number = u32::try_from(i128::from(found.f_type) & 0xffff_ffff).unwrap_or_default();
    match name_of(number) {
        Some(file_system) => Err(Refusal::OfKernel { file_system }.into()),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn refuse_kernel(_: &File) -> io::Result<()> {
    Ok(())
}

/// Returns the name of a file system of the kernel, by its number (`statfs(2)`).
#[cfg(target_os = "linux")]
fn name_of(number: u32) -> Option<&'static str> {
    OF_KERNEL.iter().find(|(it, _)| *it == number).map(|(_, name)| *name)
}

#[cfg(target_os = "linux")]
const OF_KERNEL: [(u32, &str); 29] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0x6265_6570, "configfs"),
    (0xcafe_4a11, "bpf"),
    (0x6165_676c, "pstore"),
    (0xde5e_81e4, "efivarfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6573_5543, "fusectl"),
    (0x0765_5821, "resctrl"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6e66_7364, "nfsd"),
    (0xabba_1974, "xenfs"),
    (0x6c6f_6f70, "binder"),
    (0x1980_0202, "mqueue"),
    (0x1cd1, "devpts"),
    (0x9fa1, "openprom"),
    (0x9fa2, "usbdevfs"),
    (0x0a64_7361, "functionfs"),
    (0x6e73_6673, "nsfs"),
    (0x5345_434d, "secretmem"),
    (0x0904_1934, "anon_inode"),
];

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_the_kernel_are_known_by_number() {
        // ext4, XFS, btrfs, tmpfs, overlayfs, ramfs, NFS, FUSE and 9p hold files of people.
        let ordinary = [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0x0102_1994,
            0x794c_7630,
            0x8584_58f6,
            0x6969,
            0x6573_5546,
            0x0102_1997,
        ];
        assert!(ordinary.into_iter().all(|number| name_of(number).is_none()));
        assert_eq!(name_of(0x9fa0), Some("proc"));
        assert_eq!(name_of(0x6367_7270), Some("cgroup2"));
    }
}
