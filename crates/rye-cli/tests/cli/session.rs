//! A terminal session in folders of its own, with everything that changes from run to run made steady.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use rye::sign::SigningKey;

/// A home folder and a copy of the quick start, both empty of threads.
pub(crate) struct Session {
    folder: tempfile::TempDir,
}

impl Session {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        copy(&examples().join("quickstart"), &folder.path().join("project"));
        Self { folder }
    }

    /// Copies all files as they are into folders of another session.
    pub(crate) fn duplicate(&self) -> Self {
        Self { folder: self.save() }
    }

    /// Copies all files as they are.
    pub(crate) fn save(&self) -> tempfile::TempDir {
        let saved = tempfile::tempdir().unwrap();
        copy_all(self.folder.path(), saved.path());
        saved
    }

    /// Puts all files back as they were saved.
    pub(crate) fn restore(&self, saved: &tempfile::TempDir) {
        for folder in ["home", "project"] {
            fs::remove_dir_all(self.folder.path().join(folder)).unwrap();
        }
        copy_all(saved.path(), self.folder.path());
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a provider's configuration into the project, and into the home folder, whose prices count where a key is sent.
    pub(crate) fn provider(&self, name: &str, text: &str) {
        let path = format!(".ai/tools/rye/agent/providers/{name}.yaml");
        self.put(&path, text);
        let own = self.home().join(path);
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(own, text).unwrap();
    }

    pub(crate) fn change(&self, path: &str, from: &str, to: &str) {
        let path = self.project().join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    /// Signs every item of the project by its form alone, also what `rye sign` refuses, so that a run meets it.
    pub(crate) fn sign_as_it_is(&self, key: &Path) {
        let project = self.project().canonicalize().unwrap();
        items(&project.join(".ai")).iter().for_each(|path| sign_by_form(path, key));
    }

    /// Signs one item of the project in the same way.
    pub(crate) fn sign_file_as_it_is(&self, path: &str, key: &Path) {
        sign_by_form(&self.project().canonicalize().unwrap().join(path), key);
    }

    /// Has a thread of this project wait for somebody before it writes a file.
    pub(crate) fn asks_before_it_writes(&self) {
        let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
        self.put(".ai/config/agent/approval.yaml", ask);
        self.rye("sign .ai/config/agent/approval.yaml --key KEY");
    }

    /// Runs the program in the project and returns what a person sees: standard output, standard error, exit code.
    pub(crate) fn rye(&self, arguments: &str) -> String {
        self.rye_with(arguments, &[])
    }

    /// The same with further variables in the environment.
    pub(crate) fn rye_with(&self, arguments: &str, variables: &[(&str, &str)]) -> String {
        self.shown(arguments, self.command(arguments, variables).output().unwrap())
    }

    /// The same with a text on standard input.
    pub(crate) fn rye_reading(&self, arguments: &str, input: &str) -> String {
        let output = self.command(arguments, &[]).write_stdin(input).output().unwrap();
        self.shown(arguments, output)
    }

    #[expect(clippy::needless_pass_by_value, reason = "nothing else is done with an output")]
    fn shown(&self, arguments: &str, output: Output) -> String {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap();
        self.steady(&format!("$ rye {arguments}\n{out}--- standard error\n{err}--- exit {code}"))
    }

    /// Runs the program in the project and returns what it wrote, as it wrote it.
    pub(crate) fn raw(&self, arguments: &str) -> Output {
        self.command(arguments, &[]).output().unwrap()
    }

    /// Runs the program in another folder and returns what it said.
    pub(crate) fn rye_in(&self, folder: PathBuf, arguments: &str) -> String {
        self.shown(arguments, self.command(arguments, &[]).current_dir(folder).output().unwrap())
    }

    fn command(&self, arguments: &str, variables: &[(&str, &str)]) -> Command {
        let words = arguments.split_whitespace().map(|word| match word {
            "TRUST" => examples().join("keys/example-trust.toml").display().to_string(),
            "KEY" => examples().join("keys/example-signing-key.pem").display().to_string(),
            word => word.to_owned(),
        });
        let words = words.flat_map(|word| match word.as_str() {
            "THREAD" => vec![self.thread()],
            "ITEMS" => self.items(),
            _ => vec![word],
        });
        let words: Vec<String> = words.collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
        command
            .args(words)
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.home())
            .envs(variables.iter().copied());
        command
    }

    /// The files of the project's items, each by its own path.
    fn items(&self) -> Vec<String> {
        let mut files = Vec::new();
        let folders = ["config", "directives", "knowledge", "tools"];
        let mut folders: Vec<PathBuf> =
            folders.iter().map(|folder| self.project().join(".ai").join(folder)).collect();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                match entry.unwrap().path() {
                    path if path.is_dir() && path.ends_with("config/keys") => {}
                    path if path.is_dir() => folders.push(path),
                    path => files.push(path.display().to_string()),
                }
            }
        }
        files.sort_unstable();
        files
    }

    /// The trust document of the examples' key.
    pub(crate) fn trust(&self) -> String {
        examples().join("keys/example-trust.toml").display().to_string()
    }

    /// How long the transcript of the one thread is by now.
    pub(crate) fn recorded(&self) -> u64 {
        self.threads().next().map_or(0, |thread| {
            fs::metadata(thread.join("transcript.jsonl")).map_or(0, |found| found.len())
        })
    }

    /// Whether a thread has got as far as to have a record.
    pub(crate) fn has_record(&self) -> bool {
        self.threads().any(|thread| has_record(&thread))
    }

    fn threads(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.project().join(".ai/threads")).ok();
        let paths = entries.into_iter().flatten().filter_map(|it| it.ok().map(|it| it.path()));
        paths.filter(|path| path.is_dir() && !path.ends_with("requests"))
    }

    /// The one thread that has run here.
    pub(crate) fn thread(&self) -> String {
        let folder = self.threads().next().unwrap();
        folder.file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Copies the threads, and their costs as `rye` shows them, to where `cargo xtask transcript` reads them with another program.
    pub(crate) fn export_threads(&self, name: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("threads").join(name);
        if let Err(error) = fs::remove_dir_all(&folder) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
        }
        copy(&self.project().join(".ai/threads"), &folder);
        let tree = self.raw("threads tree --json");
        assert!(tree.status.success());
        fs::write(folder.join("tree.json"), tree.stdout).unwrap();
    }

    /// Replaces what differs from run to run by a name for it.
    pub(crate) fn steady(&self, text: &str) -> String {
        let root = self.folder.path().canonicalize().unwrap();
        let text = text.replace(&*root.to_string_lossy(), "<DIR>");
        let text = text.replace(&*self.folder.path().to_string_lossy(), "<DIR>");
        let text = text.replace(&*examples().to_string_lossy(), "<EXAMPLES>");
        let text = replaced(&text, &is_uuid, 36, "<UUID>");
        let text = replaced(&text, &is_moment, 24, "<TIME>");
        let text = without_ports(&without_durations(&text));
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.ends_with(".ai/threads") || path.ends_with("INDEX.md") {
            continue;
        }
        if path.is_dir() { copy(&path, &target) } else { _ = fs::copy(&path, &target).unwrap() }
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy_all(&path, &target) } else { _ = fs::copy(&path, &target).unwrap() }
    }
}

/// Replaces the times that threads took. They stay numbers, so that the text stays JSON.
fn without_durations(text: &str) -> String {
    const MEMBER: &str = "\"duration_millis\": ";
    let mut parts = text.split(MEMBER);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{text}{MEMBER}0{rest}")
    })
}

/// Replaces the port of a provider of this machine, where a run tells that its requests go there.
fn without_ports(text: &str) -> String {
    const DESTINATION: &str = "requests go to `http://127.0.0.1:";
    let mut parts = text.split(DESTINATION);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{text}{DESTINATION}<PORT>{rest}")
    })
}

/// Replaces every run of `length` bytes that `is_it`.
fn replaced(text: &str, is_it: &dyn Fn(&str) -> bool, length: usize, name: &str) -> String {
    let (mut result, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        match rest.get(..length) {
            Some(run) if is_it(run) => {
                result.push_str(name);
                rest = &rest[length..];
            }
            _ => {
                result.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    result
}

fn is_uuid(run: &str) -> bool {
    run.char_indices().all(|(index, c)| match index {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit() && !c.is_ascii_uppercase(),
    })
}

/// `2026-11-20T18:00:00.000Z`, which no file of the tests holds.
fn is_moment(run: &str) -> bool {
    let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
    run.chars().map(digits).collect::<String>() == "0000-00-00T00:00:00.000Z"
}

/// The path of the examples' key.
pub(crate) fn example_key() -> PathBuf {
    examples().join("keys/example-signing-key.pem")
}

fn sign_by_form(path: &Path, key: &Path) {
    let key = SigningKey::from_pkcs8_pem(&fs::read_to_string(key).unwrap()).unwrap();
    let at = "2026-11-20T18:00:00Z".parse().unwrap();
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, rye::with_signature(path, &text, &key, at).unwrap()).unwrap();
}

/// The files of items below an `.ai` folder.
fn items(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(items(&path));
        } else if rye::place(&path).is_some() {
            found.push(path);
        }
    }
    found
}

/// Whether the transcript in the folder of a thread has a record that counts: the beginning counts only under a checkpoint.
pub(crate) fn has_record(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join("transcript.jsonl")).unwrap_or_default();
    let mut whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.any(|line| line.contains(r#""event":"checkpoint""#))
}
