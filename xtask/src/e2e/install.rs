//! `cargo xtask e2e install`: builds what is published for this machine, and installs it.
//!
//! The wheel is built as for a release and installed into a new environment, from files alone. The quick start of the README runs
//! with the installed program. The versions of the C library that it needs, its size, the Debian package, the hooks for pre-commit
//! and the scripts of `action.yml` are checked, too. The program is built in the profile `dist`, which takes many minutes.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    files::{self, text},
    packages, process,
};
use anyhow::{Context as _, bail};

const FOLDER: &str = "target/xtask/install";
const SOURCES: &str = "xtask/src/e2e/install";

/// The file with the packages that build the wheel.
const BUILDERS: &str = "packaging/requirements.txt";

/// The packages that judge and use what was built.
const JUDGES: &str = "auditwheel==6.8.2 pre-commit==4.7.0";

/// The package of `cargo deb`.
const CARGO_DEB: &str = "cargo-deb@3.8.0";

/// The newest version of the C library that the program may need.
const MOST_GLIBC: (u32, u32) = (2, 28);

/// The size of the largest program, in bytes.
const MOST_BYTES: u64 = 26_000_000;

/// The longest time from the wheel on the disk to the end of the quick start.
const MOST_TIME: Duration = Duration::from_secs(10);

/// Builds the published files, installs them and runs the checks.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let Some(target) = target() else {
        bail!("the wheel of this machine is built by `.github/workflows/release.yml` alone");
    };
    let builders = fs::read_to_string(root.join(BUILDERS));
    let builders = requirements(&builders.context("no list of packages")?);
    let python = packages::python(root, "install-python", &format!("{builders} {JUDGES}"))?;
    packages::cargo(root, "cargo deb", CARGO_DEB)?;
    let programs = python.parent().expect("because an interpreter is in a folder").to_owned();
    let folder = root.join(FOLDER);
    files::remove_folder(&folder)?;
    let dist = folder.join("dist");
    let path = path_with(&programs)?;
    let variables = [("PATH", path.as_str())];
    process::run(root, &variables, &format!("packaging/build.sh {target} {}", text(&dist)))?;
    check_symbols(root, &programs, &dist)?;
    let installed = install(root, &folder, &dist)?;
    check_debian_package(&folder, &dist)?;
    // An isolated build of the hooks' package asks for its tool by name, and no registry is asked.
    let download = format!("pip download --quiet --no-deps --dest {} setuptools", text(&dist));
    process::run(root, &[], &format!("{} -m {download}", text(&python)))?;
    let script = |name: &str| format!("{} {SOURCES}/{name}", text(&python));
    let words = format!("{} {} {}", text(&folder), text(&installed), text(&dist));
    process::run(root, &variables, &format!("{} {words}", script("hooks.py")))?;
    process::run(root, &[], &format!("{} {words}", script("action.py")))
}

/// The target that the wheel is built for, if this task can build it.
fn target() -> Option<&'static str> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => Some("x86_64-unknown-linux-gnu"),
        ("linux", "aarch64") => Some("aarch64-unknown-linux-gnu"),
        _ => None,
    }
}

/// Returns the lines of a list of requirements that are no comments, as words.
fn requirements(list: &str) -> String {
    let lines = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the search path for programs, with a folder before those that are in it.
#[expect(
    clippy::disallowed_methods,
    reason = "the rule is for the crates; a task hands its own path on to the programs it starts"
)]
fn path_with(programs: &Path) -> anyhow::Result<String> {
    let before = env::var_os("PATH").unwrap_or_default();
    let folders = [programs.to_owned()].into_iter().chain(env::split_paths(&before));
    Ok(text(PathBuf::from(env::join_paths(folders).context("a path has a separator in it")?)))
}

/// Reads the versions of the C library's symbols with `auditwheel`.
fn check_symbols(root: &Path, programs: &Path, dist: &Path) -> anyhow::Result<()> {
    let wheel = only_file(dist, ".whl")?;
    let auditwheel = text(programs.join("auditwheel"));
    let shown = process::output(root, &format!("{auditwheel} show {}", text(&wheel)))?;
    let newest = newest_glibc(&shown);
    let newest = newest.with_context(|| format!("auditwheel names no version:\n{shown}"))?;
    println!("the newest symbol of the C library is GLIBC_{}.{}", newest.0, newest.1);
    if newest > MOST_GLIBC {
        bail!("the program needs a newer C library than {MOST_GLIBC:?}:\n{shown}");
    }
    Ok(())
}

/// Returns the newest version among words such as `GLIBC_2.17`.
fn newest_glibc(shown: &str) -> Option<(u32, u32)> {
    let versions = shown.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let mut parts = rest.get(..end)?.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    versions.max()
}

/// Installs the wheel into a new environment without a network, runs the quick start, and returns the program.
fn install(root: &Path, folder: &Path, dist: &Path) -> anyhow::Result<PathBuf> {
    let environment = folder.join("environment");
    let project = folder.join("quickstart");
    process::run(root, &[], &format!("python3 -m venv {}", text(&environment)))?;
    files::copy_folder(&root.join("examples/quickstart"), &project)
        .context("the quick start cannot be copied")?;
    let begin = Instant::now();
    let pip = text(environment.join("bin/pip"));
    let options = "--quiet --disable-pip-version-check --no-index --find-links";
    process::run(root, &[], &format!("{pip} install {options} {} rye-cli", text(dist)))?;
    let installed = environment.join("bin/rye");
    run_quick_start(root, &installed, &project)?;
    let took = begin.elapsed();
    let size = fs::metadata(&installed).context("no program")?.len();
    println!("installed and run in {:.1} s; the program has {size} bytes", took.as_secs_f64());
    if took > MOST_TIME {
        bail!("the installation and the quick start take more than {MOST_TIME:?}");
    }
    if size > MOST_BYTES {
        bail!("the program has more than {MOST_BYTES} bytes");
    }
    Ok(installed)
}

/// Runs the command of the README's quick start on a copy of its project.
fn run_quick_start(root: &Path, rye: &Path, project: &Path) -> anyhow::Result<()> {
    let words = "run notes/index --trust examples/keys/example-trust.toml --provider steps";
    let line = format!("{} {words} --project {}", text(rye), text(project));
    let printed = process::output(root, &line)?;
    if !printed.contains("count: 4") || !project.join("INDEX.md").is_file() {
        bail!("the quick start writes no index of four notes:\n{printed}");
    }
    Ok(())
}

/// Unpacks the Debian package and runs its program.
fn check_debian_package(folder: &Path, dist: &Path) -> anyhow::Result<()> {
    let package = only_file(dist, ".deb")?;
    let unpacked = folder.join("debian");
    process::run(folder, &[], &format!("dpkg-deb -x {} {}", text(package), text(&unpacked)))?;
    let expected = [
        "usr/bin/rye",
        "usr/share/man/man1/rye.1.gz",
        "usr/share/man/man1/rye-run.1.gz",
        "usr/share/bash-completion/completions/rye",
    ];
    let missing: Vec<_> = expected.iter().filter(|file| !unpacked.join(file).is_file()).collect();
    if !missing.is_empty() {
        bail!("the Debian package lacks {missing:?}");
    }
    process::run(folder, &[], &format!("{} --version", text(unpacked.join("usr/bin/rye"))))
}

/// Returns the file of the folder whose name ends with `end`, if there is exactly one.
fn only_file(folder: &Path, end: &str) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder).context("nothing was built")?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.filter(|path| text(path).ends_with(end));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => bail!("`{}` has not one file that ends with `{end}`", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::{newest_glibc, requirements};

    #[test]
    fn the_newest_version_is_compared_by_numbers() {
        let rows = [
            ("{'GLIBC_2.2.5', 'GLIBC_2.17', 'GLIBC_2.9'}", Some((2, 17))),
            ("GLIBC_2.3", Some((2, 3))),
            ("GLIBC_PRIVATE", None),
            ("", None),
        ];
        for (shown, expected) in rows {
            assert_eq!(newest_glibc(shown), expected, "{shown}");
        }
    }

    #[test]
    fn requirements_are_the_lines_without_comments() {
        assert_eq!(requirements("# why\na==1\n\nb==2\n"), "a==1 b==2");
    }
}
