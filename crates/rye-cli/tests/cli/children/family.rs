//! A project with a parent and its children, and a person who looks after them.

use std::fs;
use std::ops::Deref;
use std::process::{Child, Command, Stdio};

use super::model::Model;
use crate::session::Session;

pub(crate) const PARENT: &str = "<execute><tool>rye.agent.threads.*</tool>\
    <tool>rye.file-system.write</tool><directive>test.*</directive></execute>";
pub(crate) const CHILD: &str = "<execute><tool>rye.file-system.write</tool></execute>";

/// The project, whose directives are followed by a model of the test's.
pub(crate) struct Family(Session);

impl Deref for Family {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Family {
    pub(crate) fn new(model: &Model) -> Self {
        let session = Session::new();
        session.put(".ai/tools/rye/agent/providers/small.yaml", &model.provider());
        session.rye("keys generate");
        let family = Self(session);
        family.sign(".ai/tools/rye/agent/providers/small.yaml");
        family
    }

    fn sign(&self, path: &str) {
        let signed = self.0.rye(&format!("sign {path}"));
        assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    }

    /// Has a file of configuration signed.
    pub(crate) fn config(&self, path: &str, text: &str) {
        self.put(path, text);
        self.sign(path);
    }

    pub(crate) fn directive(&self, name: &str, permissions: &str) {
        self.directive_with(name, permissions, "");
    }

    pub(crate) fn directive_with(&self, name: &str, permissions: &str, more: &str) {
        self.unsigned_with(name, permissions, more);
        self.sign(&format!(".ai/directives/test/{name}.md"));
    }

    pub(crate) fn unsigned(&self, name: &str, permissions: &str) {
        self.unsigned_with(name, permissions, "");
    }

    fn unsigned_with(&self, name: &str, permissions: &str, more: &str) {
        let text = format!(
            "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n    <description>For a \
             test.</description>\n    <category>test</category>\n    <author>rye</author>\n    \
             <permissions>{permissions}</permissions>\n    {more}\n  </metadata>\n</directive>\n```\n\n<process>\n  \
             <step name=\"s\">\n    <description>Do what {name} does.</description>\n  </step>\n</process>\n"
        );
        self.put(&format!(".ai/directives/test/{name}.md"), &text);
    }

    /// Runs a directive of the family to where it stops.
    pub(crate) fn run(&self, name: &str, options: &str) -> String {
        self.rye(format!("run test/{name} --provider small {options}").trim_end())
    }

    /// Runs a command, in which a directive's name in capitals stands for the newest thread of it.
    pub(crate) fn rye(&self, arguments: &str) -> String {
        let words = arguments.split_whitespace().map(|word| {
            let is_name = word.chars().all(|c| c.is_ascii_uppercase());
            if is_name { self.thread_of(&word.to_ascii_lowercase()) } else { word.to_owned() }
        });
        let shown = self.0.rye(&words.collect::<Vec<_>>().join(" "));
        let (_, shown) = shown.split_once('\n').unwrap();
        format!("$ rye {arguments}\n{shown}")
    }

    /// The one thread of a directive.
    pub(crate) fn thread_of(&self, name: &str) -> String {
        let lead = format!("{name}-");
        let found = self.folders().into_iter().find(|folder| folder.starts_with(&lead));
        found.unwrap_or_else(|| panic!("no thread of `{name}` in {:?}", self.folders()))
    }

    pub(crate) fn has_thread_of(&self, name: &str) -> bool {
        self.folders().iter().any(|folder| folder.starts_with(&format!("{name}-")))
    }

    /// The folders of all threads, sorted.
    pub(crate) fn folders(&self) -> Vec<String> {
        let entries = fs::read_dir(self.project().join(".ai/threads")).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Starts a run of a directive in a program of its own.
    pub(crate) fn started(&self, name: &str) -> Child {
        self.started_with(name, "")
    }

    /// The same with options of its own.
    pub(crate) fn started_with(&self, name: &str, options: &str) -> Child {
        self.started_to(name, options, Stdio::piped())
    }

    /// The same with a standard output of its own.
    pub(crate) fn started_to(&self, name: &str, options: &str, to: impl Into<Stdio>) -> Child {
        self.spawned(&format!("run test/{name} --provider small {options}"), to)
    }

    /// Starts any command in a program of its own.
    #[expect(clippy::disallowed_methods, reason = "what is stopped has to be a program")]
    pub(crate) fn spawned(&self, arguments: &str, to: impl Into<Stdio>) -> Child {
        Command::new(env!("CARGO_BIN_EXE_rye"))
            .args(arguments.split_whitespace())
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.home())
            .stdout(to)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// What a started program showed by its end.
    pub(crate) fn ended(&self, child: Child) -> String {
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap_or(-1);
        self.steady(&format!("{out}--- standard error\n{err}--- exit {code}"))
    }

    /// What a run of a directive shows on a terminal.
    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "what is watched is a program on a terminal")]
    pub(crate) fn watched(&self, name: &str) -> String {
        use std::io::Read as _;
        let (mut near, far) = crate::terminal::terminal();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
        command.args(["run", &format!("test/{name}"), "--provider", "small"]);
        command.current_dir(self.project());
        command.env_clear().env("HOME", self.home()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(far);
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut shown, mut piece) = (Vec::new(), [0; 1024]);
        while let Ok(length @ 1..) = near.read(&mut piece) {
            shown.extend_from_slice(&piece[..length]);
        }
        child.wait().unwrap();
        self.steady(&String::from_utf8_lossy(&shown).replace("\r\n", "\n"))
    }
}

/// The short names of threads differ from run to run, and so does how long they take.
pub(crate) fn steady_names(text: &str) -> String {
    let mut steady = String::new();
    for (place, piece) in text.split('…').enumerate() {
        let is_name = piece.chars().take(4).filter(char::is_ascii_hexdigit).count() == 4;
        match (place, is_name) {
            (0, _) => steady.push_str(piece),
            (_, true) => steady.push_str(&format!("…<ID>{}", &piece[4..])),
            (_, false) => steady.push_str(&format!("…{piece}")),
        }
    }
    steady.lines().map(|line| format!("{}\n", without_time(line))).collect()
}

/// `0.7 s so far`.
fn without_time(line: &str) -> String {
    match line.strip_suffix(" s so far").and_then(|line| line.rsplit_once(' ')) {
        Some((line, _)) => format!("{line} <SECONDS> s so far"),
        None => line.to_owned(),
    }
}
