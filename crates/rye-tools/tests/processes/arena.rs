//! A project with keys beside it, and things outside that no program may reach.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rye_caps::{Authority, Capability, Grant, Layer, LayerName};
use rye_sandbox::{Launcher, ProcessHost, Processes, Rules};
use rye_thread::{AuthorisedCall, Palette, PaletteEntry, Tool, ToolOutput, ToolSpec};
use rye_tools::bash;
use rye_types::{Effect, SandboxMode};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What must never be read.
pub(crate) const CANARY: &str = "CANARY-7f3a";

/// Files of the home folder that hold keys or passwords.
pub(crate) const SECRETS: [&str; 34] = [
    ".aws/credentials",
    ".azure/token.json",
    ".bitcoin/wallet.dat",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude/credentials.json",
    ".codex/auth.json",
    ".config/Exodus/seed",
    ".config/chromium/Default/Cookies",
    ".config/containers/auth.json",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".config/google-chrome/Default/Login",
    ".config/rclone/rclone.conf",
    ".config/solana/id.json",
    ".docker/config.json",
    ".docker/contexts/tls/key.pem",
    ".electrum/wallets/default",
    ".ethereum/keystore/key",
    ".gemini/token.json",
    ".git-credentials",
    ".gnupg/private.key",
    ".kube/config",
    ".local/share/keyrings/login",
    ".m2/settings.xml",
    ".mozilla/firefox/logins.json",
    ".netrc",
    ".npmrc",
    ".password-store/all.gpg",
    ".pgpass",
    ".pypirc",
    ".ssh/id_rsa",
    ".vault-token",
    ".zsh_history",
];

/// The program that confines, which cargo builds beside the tests.
pub(crate) fn launcher() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let named = own.with_file_name("launcher");
    let beside = own.parent().unwrap().parent().unwrap().join("examples/launcher");
    if named.is_file() { named } else { beside }
}

pub(crate) struct Arena {
    _outer: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) tcp: TcpListener,
    _service: UnixListener,
}

impl Arena {
    /// Not where programs get a folder of their own, so that what is outside is there to be reached.
    pub(crate) fn new() -> Self {
        Self::in_folder("/var/tmp")
    }

    /// One whose project has only just begun.
    pub(crate) fn bare() -> Self {
        let arena = Self::new();
        let project = arena.root.join("project");
        for folder in [".git", ".ai"] {
            fs::remove_dir_all(project.join(folder)).unwrap();
        }
        for folder in [".ai/tools", ".ai/config/agent"] {
            fs::create_dir_all(project.join(folder)).unwrap();
        }
        arena
    }

    pub(crate) fn in_folder(folder: &str) -> Self {
        let outer = tempfile::tempdir_in(folder).unwrap();
        let root = outer.path().canonicalize().unwrap();
        for folder in [
            "project/src",
            "project/.ai/threads/t",
            "project/.ai/config/keys/trusted",
            "project/.ai/signed",
            "project/.ai/config/keys/signing",
            "project/.git/hooks",
            "home/.ai/config/keys/signing",
            "home/.cargo/bin",
            "home/letters",
            "outside",
            "calls",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (file, text) in [
            ("project/src/a.txt", "a\n"),
            ("project/.git/config", "[core]\n"),
            ("project/.ai/threads/t/transcript.jsonl", "{}\n"),
            ("project/.ai/rye.lock", "version = 1\n"),
            ("project/.ai/signed/AGENTS.md.sig", "# rye:signed\n"),
            ("project/.ai/config/keys/trusted/k.toml", "owner"),
            ("project/.ai/config/keys/signing/private_key.pem", CANARY),
            ("home/.ai/config/keys/signing/private_key.pem", CANARY),
            ("home/.cargo/bin/tool", "#!/bin/sh\necho OUT\n"),
            ("home/.cargo/config.toml", CANARY),
            ("home/letters/diary.txt", CANARY),
            ("outside/secret.txt", "outside"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        for secret in SECRETS.map(|path| root.join("home").join(path)) {
            fs::create_dir_all(secret.parent().unwrap()).unwrap();
            fs::write(secret, CANARY).unwrap();
        }
        let tool = root.join("home/.cargo/bin/tool");
        fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
        let link = |target: &str, place: &str| {
            std::os::unix::fs::symlink(root.join(target), root.join(place)).unwrap();
        };
        link("outside", "project/out");
        link("home/.ssh/id_rsa", "project/key");
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = UnixListener::bind(root.join("outside/service.sock")).unwrap();
        Self { _outer: outer, root, tcp, _service: service }
    }

    pub(crate) fn host(&self) -> ProcessHost {
        let mut host = ProcessHost::new(&self.root.join("calls"));
        host.launcher = Some(Launcher::open(&launcher()).unwrap());
        host.journal = self.root.join("notes");
        host.home = Some(self.root.join("home"));
        let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        host.environment = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("ANTHROPIC_API_KEY".to_owned(), CANARY.to_owned()),
        ]);
        if let Some(path) = option_env!("RYE_TEST_BWRAP") {
            host.bubblewrap.push(PathBuf::from(path));
        }
        host
    }

    /// Returns a copy of the launcher under the name of a state that it enters then.
    #[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
    pub(crate) fn launcher_as(&self, state: &str) -> Launcher {
        let place = self.root.join(format!("launcher-{state}"));
        // By another program: a file that this process has open for writing is open in what other tests start at that moment, too, and
        // such a file cannot be started.
        let copied = std::process::Command::new("cp").arg(launcher()).arg(&place).status();
        assert!(copied.unwrap().success());
        Launcher::open(&place).unwrap()
    }

    pub(crate) fn processes(&self, mode: SandboxMode, rules: Rules) -> Arc<Processes> {
        let mut host = self.host();
        host.modes = vec![mode];
        Arc::new(Processes::new(host, rules, &self.root.join("project")).unwrap())
    }

    /// Programs in this mode, or `None` with a loud word where the machine cannot do it.
    #[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
    pub(crate) fn in_mode(&self, mode: SandboxMode) -> Option<Arc<Processes>> {
        let processes = self.processes(mode, Rules::default());
        let report = processes.sandbox().unwrap();
        if report.mode() == mode {
            return Some(processes);
        }
        println!("NOT TESTED HERE: the sandbox `{mode}` does not work on this machine\n{report}");
        None
    }

    /// Text, mode and time of every file outside of the project.
    pub(crate) fn outside(&self) -> BTreeMap<PathBuf, (Vec<u8>, u32, SystemTime)> {
        let mut found = BTreeMap::new();
        for folder in ["outside", "home", "home/.ssh"] {
            for entry in fs::read_dir(self.root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                let bytes = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                let state = (bytes, metadata.permissions().mode(), metadata.modified().unwrap());
                drop(found.insert(path, state));
            }
        }
        found
    }
}

/// An authorised call with these arguments: none of these tools looks at its permit, and none can be called without.
pub(crate) fn authorised(arguments: Value) -> AuthorisedCall {
    let capability: Capability = "rye.execute.tool.test.any".parse().unwrap();
    let spec = ToolSpec::new("any", "Any tool.", json!({}));
    let tool = Arc::new(|_: Value| ToolOutput::ok(Value::Null));
    let entry = PaletteEntry::new("test/any", spec, capability, Effect::Once, tool);
    let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
    Palette::new(vec![entry])
        .unwrap()
        .authorise(&authority, "test/any", arguments)
        .unwrap()
        .unwrap()
}

pub(crate) fn call(tool: &Arc<dyn Tool>, arguments: Value) -> ToolOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(tool.call(authorised(arguments)))
}

pub(crate) fn shell(processes: &Arc<Processes>, command: &str) -> ToolOutput {
    call(&bash(processes), json!({ "command": command, "timeout_seconds": 60 }))
}

/// The processes whose command line holds the word. It is that of any thread, because the first one can have ended before the others.
pub(crate) fn living(word: &str) -> Vec<String> {
    let inside = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let processes = inside(Path::new("/proc")).map(|entry| entry.path().join("task"));
    let line_of = |tasks: PathBuf| {
        let lines =
            inside(&tasks).filter_map(|thread| fs::read(thread.path().join("cmdline")).ok());
        let mut lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.find(|line| line.contains(word))
    };
    processes.filter_map(line_of).collect()
}

/// Returns a command by which a process goes on in a second thread, with so much memory, after its first one has ended. `None`
/// where the means is missing.
#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
pub(crate) fn threaded(mark: &str, mebibytes: u32) -> Option<String> {
    if !Path::new("/usr/bin/python3").is_file() {
        println!(
            "NOT TESTED HERE: a process whose first thread has ended, for which python3 is missing"
        );
        return None;
    }
    let exit = if cfg!(target_arch = "x86_64") { 60 } else { 93 };
    let work = format!("k = b\"x\" * ({mebibytes} << 20); time.sleep({mark})");
    Some(format!(
        "/usr/bin/python3 -c 'import ctypes, threading, time; threading.Thread(target=exec, args=(\"\"\"import time; {work}\"\"\",)).start(); ctypes.CDLL(None).syscall({exit}, 0)'"
    ))
}

pub(crate) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
