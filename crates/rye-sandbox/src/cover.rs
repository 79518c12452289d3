//! Hints for programs that miss what their sandbox does not show them.

use std::path::{Path, PathBuf};

use crate::plan::TEMPORARY;
use crate::{Home, Plan};

/// The paths that a sandbox covers and the network that it withholds, for a hint about a program that failed.
#[derive(Debug, Clone)]
pub struct Cover {
    /// `None` in a mode that shows the machine's own files.
    files: Option<Covered>,
    has_network: bool,
}

#[derive(Debug, Clone)]
struct Covered {
    /// The covered home folders.
    homes: Vec<Home>,
    /// The places that a program sees wherever they lie: the project and the folder of the call.
    shown: [PathBuf; 2],
}

impl Cover {
    /// Returns the cover of a program with this plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let covered = || Covered {
            homes: plan.homes.clone(),
            shown: [plan.project().to_owned(), plan.scratch.path().to_owned()],
        };
        let is_confined = plan.mode != rye_types::SandboxMode::None;
        Self {
            files: plan.mode.is_whole().then(covered),
            has_network: plan.network || !is_confined,
        }
    }

    /// Returns a hint if the standard error says that a file is missing which lies in a covered folder, or that there is
    /// no network, and the sandbox is the reason.
    ///
    /// The hint never says whether a file exists outside of the sandbox: a program could name paths in order to find out.
    #[must_use]
    pub fn hint(&self, stderr: &str) -> Option<String> {
        let says = |line: &str, words: &[&str]| {
            let line = line.to_ascii_lowercase();
            words.iter().any(|word| line.contains(word))
        };
        let missing = stderr.lines().filter(|line| says(line, &MISSING));
        let of_files = self.files.as_ref().and_then(|covered| {
            missing.flat_map(absolute_paths).find_map(|path| covered.hint(Path::new(path)))
        });
        of_files.or_else(|| {
            let is_offline = !self.has_network && stderr.lines().any(|line| says(line, &OFFLINE));
            is_offline.then(|| NO_NETWORK.to_owned())
        })
    }

    /// Returns the folder that covers the path, in words, or nothing if it is not covered.
    #[cfg(target_os = "linux")]
    pub(crate) fn reason(&self, path: &Path) -> Option<String> {
        self.files.as_ref()?.reason(path)
    }
}

impl Covered {
    fn hint(&self, path: &Path) -> Option<String> {
        let reason = self.reason(path)?;
        let remedy = match path.starts_with(TEMPORARY) {
            true => "keep the file in a folder that it shows, such as the project or `/opt`",
            false => {
                "keep the file in a folder that it shows, such as the project or `/opt`; `home_visible` in `config/agent/processes.yaml` of the user space shows more of your own"
            }
        };
        Some(format!("`{}` is not visible: the sandbox {reason}; {remedy}", path.display()))
    }

    fn reason(&self, path: &Path) -> Option<String> {
        if self.shown.iter().any(|shown| path.starts_with(shown)) {
            return None;
        }
        match self.homes.iter().find(|home| home.covers(path)) {
            Some(home) => Some(format!("covers the home folder `{}`", home.folder.display())),
            None if path.starts_with(TEMPORARY) => Some(format!("has a `{TEMPORARY}` of its own")),
            None => None,
        }
    }
}

/// The words by which runtimes and shells report that a file is missing, in lower case: the C library, Node.js, shells,
/// Python and Java.
const MISSING: [&str; 6] = [
    "no such file",
    "cannot find module",
    "command not found",
    ": not found",
    "does not exist",
    "unable to access jarfile",
];

/// The words by which runtimes report that they reach no network, in lower case: the C library, Node.js, curl and Go.
const OFFLINE: [&str; 9] = [
    "connect eperm",
    "urlopen error [errno 1]",
    "temporary failure in name resolution",
    "name or service not known",
    "network is unreachable",
    "could not resolve host",
    "eai_again",
    "enetunreach",
    "no such host",
];

const NO_NETWORK: &str = "the sandbox gives the program no network; a tool or a server that needs it says `network: true` in its file";

/// Returns the words of a line that look like absolute paths, without quotes and punctuation around them.
fn absolute_paths(line: &str) -> impl Iterator<Item = &str> {
    let is_edge = |letter: char| letter.is_whitespace() || "'\"`“”‘’<>(),;[]{}".contains(letter);
    let words = line.split(is_edge).map(|word| word.trim_end_matches([':', '.']));
    words.filter(|word| word.starts_with('/') && word.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(has_network: bool) -> Cover {
        let homes = vec![Home {
            folder: "/home/ann".into(),
            shown: vec!["/home/ann/.local/share/virtualenvs".into()],
            links: Vec::new(),
        }];
        let shown = ["/home/ann/project".into(), "/tmp/rye/call".into()];
        Cover { files: Some(Covered { homes, shown }), has_network }
    }

    #[test]
    fn a_missing_file_that_the_sandbox_covers_is_named_with_the_reason() {
        let home =
            Some("the sandbox covers the home folder `/home/ann`; keep the file in a folder");
        let temporary = Some("the sandbox has a `/tmp` of its own; keep the file in a folder");
        for (stderr, expected) in [
            (
                "python3: can't open file '/tmp/x/server.py': [Errno 2] No such file or directory",
                temporary,
            ),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/home/ann/data.csv'", home),
            ("cat: /home/ann/data.csv: No such file or directory", home),
            ("Error: ENOENT: no such file or directory, open '/home/ann/data.csv'", home),
            ("Error: Cannot find module '/home/ann/servers/notes.js'", home),
            ("sh: 1: /tmp/tool: not found", temporary),
            ("Error: Unable to access jarfile /home/ann/server.jar", home),
            ("one line\ncat: /tmp/a: No such file or directory\nlast", temporary),
            ("cat: /home/ann/project/data.csv: No such file or directory", None),
            ("cat: /home/ann/.local/share/virtualenvs/a/b: No such file or directory", None),
            ("cat: /tmp/rye/call/own/a: No such file or directory", None),
            ("cat: /opt/data.csv: No such file or directory", None),
            ("cat: data.csv: No such file or directory", None),
            ("/home/ann/data.csv has 3 lines", None),
            ("", None),
        ] {
            let hint = cover(false).hint(stderr);
            assert_eq!(hint.is_some(), expected.is_some(), "{stderr}: {hint:?}");
            assert!(hint.unwrap_or_default().contains(expected.unwrap_or_default()), "{stderr}");
        }
    }

    #[test]
    fn a_program_without_the_network_is_told_of_the_sandbox() {
        for stderr in [
            "curl: (6) Could not resolve host: example.org",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "Error: getaddrinfo EAI_AGAIN example.org",
            "dial tcp: lookup example.org: no such host",
            "OSError: [Errno 101] Network is unreachable",
            "urllib.error.URLError: <urlopen error [Errno 1] Operation not permitted>",
            "Error: connect EPERM 127.0.0.1:80",
        ] {
            let hint = cover(false).hint(stderr).unwrap_or_default();
            assert!(hint.contains("`network: true`"), "{stderr}: {hint}");
            assert_eq!(cover(true).hint(stderr), None, "{stderr}");
        }
    }
}
