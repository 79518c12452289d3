//! The view of the home folder for programs: empty except for toolchains.

use std::path::{Component, Path, PathBuf};

use super::host::{ProcessHost, Processes};
use super::known_paths::{IN_HOME, NEEDED, OF_CARGO, OF_MACHINE, RUNTIMES, TOOLCHAINS};
use crate::{Home, Link};

impl ProcessHost {
    /// Returns the home folders in a table of users, such as `/etc/passwd`, without those of system services.
    #[must_use]
    pub fn homes_in(table: &str) -> Vec<PathBuf> {
        let homes = table.lines().filter_map(|line| line.split(':').nth(5)).map(PathBuf::from);
        let is_of_machine = |home: &Path| {
            OF_MACHINE.iter().any(|place| home.starts_with(place)) || home == Path::new("/")
        };
        let mut homes: Vec<PathBuf> =
            homes.filter(|home| is_plain(home) && !is_of_machine(home)).collect();
        homes.sort();
        homes.dedup();
        homes
    }

    /// Returns the place of keys or passwords that contains the given path below the home folder, if there is
    /// one.
    #[must_use]
    pub fn secret_in_home(&self, path: &Path) -> Option<&'static str> {
        IN_HOME.iter().copied().find(|secret| path.starts_with(secret))
    }

    /// Returns the home folder without links. Returns `None` if it cannot be covered because programs need
    /// its content: it contains system folders, as `/` does, or it is in the project.
    fn home_to_cover(home: &Path, project: &Path) -> Option<PathBuf> {
        let home = home.canonicalize().ok()?;
        let holds_machine = NEEDED.iter().any(|place| Path::new(place).starts_with(&home));
        (!holds_machine && !home.starts_with(project)).then_some(home)
    }

    /// Returns the toolchain folders that the environment names.
    fn of_environment(&self) -> impl Iterator<Item = PathBuf> {
        let value = |name: &str| self.environment.get(name).map(String::as_str);
        let path = std::env::split_paths(value("PATH").unwrap_or_default()).collect::<Vec<_>>();
        let toolchains: Vec<PathBuf> = TOOLCHAINS
            .iter()
            .filter_map(|name| value(name))
            .flat_map(std::env::split_paths)
            .collect();
        let cargo = value("CARGO_HOME").map(PathBuf::from);
        let of_cargo = cargo.into_iter().flat_map(|home| OF_CARGO.map(|part| home.join(part)));
        path.into_iter().chain(toolchains).chain(of_cargo)
    }
}

impl Processes {
    /// Returns `true` if a sandbox covers the home folder, except for toolchains.
    #[must_use]
    pub fn covers_home(&self) -> bool {
        self.home().is_some()
    }

    /// Returns the home folders to cover, the operator's first. The user's own one is also
    /// covered where `HOME` names another folder, as in containers and under `sudo`. In both, toolchains stay visible. In
    /// those of other users, which are covered for root in a project of another user, only the paths in the environment do.
    pub(super) fn homes(&self) -> Vec<Home> {
        let own = self.home();
        let is_own = |folder: &PathBuf| own.as_ref().is_some_and(|own| own.folder == *folder);
        let is_foreign = self.is_foreign();
        let others = self.host.other_homes.iter().filter(|home| is_foreign || is_mine(home));
        let mut others: Vec<PathBuf> = others
            .filter_map(|home| ProcessHost::home_to_cover(home, self.project()))
            .filter(|folder| folder.is_dir() && !is_own(folder))
            .collect();
        others.sort();
        // In sorted order, a folder comes after the one that contains it.
        others.dedup_by(|inner, outer| inner.starts_with(outer));
        let others = others.into_iter().map(|folder| {
            let runtimes = RUNTIMES.iter().filter(|_| is_mine(&folder)).map(|it| folder.join(it));
            let named: Vec<PathBuf> = runtimes.chain(self.host.of_environment()).collect();
            Home::new(folder, named.into_iter())
        });
        own.clone().into_iter().chain(others).collect()
    }

    /// Returns `true` for root in a project of another user. Root can read files that other users have
    /// closed.
    fn is_foreign(&self) -> bool {
        use std::os::unix::fs::MetadataExt;

        let own = rustix::process::geteuid();
        let owner = self.project().metadata().map(|project| project.uid());
        own.is_root() && owner.is_ok_and(|owner| owner != own.as_raw())
    }

    /// Returns the operator's home folder with the paths that stay visible.
    fn home(&self) -> Option<Home> {
        let home = self.host.home.as_deref()?;
        let folder = ProcessHost::home_to_cover(home, self.project())?;
        let named =
            RUNTIMES.iter().map(PathBuf::from).chain(self.rules.home_visible.iter().cloned());
        let named: Vec<PathBuf> = named.map(|part| folder.join(part)).collect();
        Some(Home::new(folder, named.into_iter().chain(self.host.of_environment())))
    }
}

impl Home {
    /// Creates the cover of a folder in which only the given paths stay visible.
    fn new(folder: PathBuf, named: impl Iterator<Item = PathBuf>) -> Self {
        let mut home = Self { shown: Vec::new(), links: Vec::new(), folder };
        named.filter(|path| is_plain(path)).for_each(|path| home.show(&path));
        home.settle();
        home
    }

    /// Keeps the target of a path visible if it is in the folder and exists. If the path has links, keeps a
    /// link to it too.
    fn show(&mut self, named: &Path) {
        let Ok(place) = named.canonicalize() else { return };
        let is_inside = |path: &Path| path != self.folder && path.starts_with(&self.folder);
        if is_inside(&place) {
            self.shown.push(place.clone());
        }
        let is_wide = self.folder.starts_with(&place);
        if place != named && is_inside(named) && !is_wide {
            self.links.push(Link { path: named.to_owned(), place });
        }
    }

    /// Removes paths that are inside of other visible paths.
    fn settle(&mut self) {
        self.shown.sort();
        self.shown.dedup();
        let all = self.shown.clone();
        let is_within =
            |path: &Path| all.iter().any(|other| other != path && path.starts_with(other));
        self.shown.retain(|path| !is_within(path));
        self.links.sort();
        self.links.dedup();
        let is_shown = |path: &Path| all.iter().any(|other| path.starts_with(other));
        self.links.retain(|link| !is_shown(&link.path));
        // A link below another link needs no entry.
        let mut kept: Vec<Link> = Vec::new();
        for link in self.links.drain(..) {
            if !kept.iter().any(|other| link.path.starts_with(&other.path)) {
                kept.push(link);
            }
        }
        self.links = kept;
    }
}

/// Returns `true` if the folder belongs to the user whose program this is.
fn is_mine(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    folder.metadata().is_ok_and(|folder| folder.uid() == rustix::process::geteuid().as_raw())
}

/// Returns `true` for an absolute path without `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::Rules;

    struct Case {
        _outer: tempfile::TempDir,
        root: PathBuf,
    }

    impl Case {
        fn new(folders: &[&str]) -> Self {
            let outer = tempfile::tempdir().unwrap();
            let root = outer.path().canonicalize().unwrap();
            for folder in folders {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            Self { _outer: outer, root }
        }

        fn home(&self, home: &Path, project: &str, path: &str, visible: &[&str]) -> Option<Home> {
            let mut host = ProcessHost::new(&self.root);
            host.home = Some(home.to_owned());
            let path = path.replace("ROOT", &self.root.display().to_string());
            host.environment = BTreeMap::from([("PATH".to_owned(), path)]);
            let home_visible = visible.iter().map(PathBuf::from).collect();
            let rules = Rules { home_visible, ..Rules::default() };
            Processes::new(host, rules, &self.root.join(project)).unwrap().home()
        }

        #[track_caller]
        fn check(&self, path: &str, visible: &[&str], shown: &[&str], links: &[(&str, &str)]) {
            let home = self.home(&self.root.join("home"), "project", path, visible).unwrap();
            let place = |name: &&str| self.root.join(name);
            assert_eq!(home.shown, shown.iter().map(place).collect::<Vec<_>>());
            let pair = |(from, to): &(&str, &str)| Link { path: place(from), place: place(to) };
            assert_eq!(home.links, links.iter().map(pair).collect::<Vec<_>>());
        }
    }

    #[test]
    fn toolchains_are_shown_and_nothing_else() {
        let case = Case::new(&[
            "project",
            "home/.cargo/bin",
            "home/.cargo/registry",
            "home/.rustup",
            "home/.ssh",
            "home/letters",
            "home/tools/bin",
        ]);
        let usual = ["home/.cargo/bin", "home/.cargo/registry", "home/.rustup"];
        case.check("", &[], &usual, &[]);
        let more = ["home/.cargo/bin", "home/.cargo/registry", "home/.rustup", "home/tools/bin"];
        case.check("/usr/bin:ROOT/home/tools/bin:ROOT/home/.cargo/bin/", &[], &more, &[]);
        case.check("ROOT/home:ROOT:/:..:ROOT/home/letters/../.ssh", &[], &usual, &[]);
        let wide = ["home/.cargo", "home/.rustup", "home/letters"];
        case.check("", &["letters", ".cargo", "nowhere"], &wide, &[]);
    }

    #[test]
    fn links_are_shown_with_what_they_lead_to() {
        let case =
            Case::new(&["project", "opt/nvm", "home/dotfiles/pyenv", "home/dotfiles/local/bin"]);
        let link = |to: &str, at: &str| symlink(case.root.join(to), case.root.join(at)).unwrap();
        link("opt/nvm", "home/.nvm");
        link("home/dotfiles/pyenv", "home/.pyenv");
        link("home/dotfiles/local", "home/.local");
        link("home", "home/go");
        link("", "home/bin");
        case.check(
            "",
            &[],
            &["home/dotfiles/local/bin", "home/dotfiles/pyenv"],
            &[
                ("home/.local/bin", "home/dotfiles/local/bin"),
                ("home/.nvm", "opt/nvm"),
                ("home/.pyenv", "home/dotfiles/pyenv"),
            ],
        );
    }

    #[test]
    fn homes_of_a_table_of_users_are_those_of_people_and_services() {
        let table = "root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\n\
            postgres:x:70:70::/var/lib/postgresql:/bin/sh\na:x:1000:1000:A:/home/a:/bin/sh\n\
            b:x:1001:1001::/home/a:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\nx:x:1:1::home/x:/bin/sh\nbroken";
        let homes = ["/home/a", "/root", "/var/lib/postgresql"].map(PathBuf::from);
        assert_eq!(ProcessHost::homes_in(table), homes);
    }

    #[test]
    fn a_home_that_everything_needs_is_not_covered() {
        let case = Case::new(&["project/home", "outer/project", "home"]);
        for (home, project, is_covered) in [
            (Path::new("/"), "project", false),
            (Path::new("/usr"), "project", false),
            (Path::new("/usr/lib"), "project", false),
            (Path::new("/nowhere"), "project", false),
            (&case.root.join("project"), "project", false),
            (&case.root.join("project/home"), "project", false),
            (&case.root.join("outer"), "outer/project", true),
            (&case.root.join("home"), "project", true),
        ] {
            let found = case.home(home, project, "", &[]);
            assert_eq!(found.is_some(), is_covered, "{} {project}", home.display());
        }
    }
}
