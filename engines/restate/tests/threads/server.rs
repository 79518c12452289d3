//! A Restate server in a folder of its own.

use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};

use rye::sign::SigningKey;

/// A process that ends with this value.
pub struct Process(Child);

impl Process {
    /// Takes a process that was started.
    pub fn of(child: Child) -> Self {
        Self(child)
    }

    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits for the end, and returns the exit code.
    pub fn exit_code(mut self) -> i32 {
        self.0.wait().unwrap().code().unwrap_or(-1)
    }

    /// Ends the process as a power loss would.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// A server that ends with this value, and its ports.
pub struct Server {
    folder: PathBuf,
    pub ingress: u16,
    pub admin: u16,
    nodes: u16,
    /// Settings of `worker.invoker` that are not those of the other tests.
    settings: String,
    process: Option<Process>,
}

impl Server {
    /// Starts a server whose state is in a folder below this one.
    pub fn start(folder: &Path, settings: &str) -> Self {
        let mut server = Self {
            folder: folder.to_owned(),
            ingress: free_port(),
            admin: free_port(),
            nodes: free_port(),
            settings: settings.to_owned(),
            process: None,
        };
        server.restart();
        server
    }

    /// Ends the server as a power loss would, and starts it again.
    pub fn restart(&mut self) {
        drop(self.process.take());
        self.process = Some(Process::of(self.command().spawn().unwrap()));
    }

    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }

    /// Returns a value once the server answers.
    pub async fn is_up(&self, client: &reqwest::Client) -> Option<()> {
        for (port, path) in [(self.ingress, "restate/health"), (self.admin, "health")] {
            let answer = client.get(format!("http://127.0.0.1:{port}/{path}")).send().await.ok()?;
            answer.error_for_status().ok()?;
        }
        Some(())
    }

    fn command(&self) -> Command {
        let path = self.folder.join("restate.toml");
        let log = self.folder.join("server.log");
        fs::write(&path, self.configuration()).unwrap();
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(variable("RESTATE_SERVER"));
        command.arg("--config-file").arg(path).arg("--base-dir").arg(self.folder.join("server"));
        command.args(["--node-name", "node", "--no-logo"]).env("DO_NOT_TRACK", "1");
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    fn configuration(&self) -> String {
        let Self { ingress, admin, nodes, settings, .. } = self;
        // A handler is suspended wherever it waits, and run again from its first step after each wait.
        let suspends = env::var_os("RYE_SUSPEND").is_some() && settings.is_empty();
        let suspending = if suspends { "inactivity-timeout = \"0s\"\n" } else { "" };
        let identity = self.folder.join("identity.pem");
        if !identity.exists() {
            let key = SigningKey::generate().unwrap().to_pkcs8_pem();
            fs::write(&identity, key.as_str()).unwrap();
        }
        format!(
            "request-identity-private-key-pem-file = {identity:?}\n\
             disable-telemetry = true\ndefault-num-partitions = 4\nrocksdb-total-memory-size = \"256 MiB\"\nlisten-mode = \"tcp\"\n\
             bind-address = \"127.0.0.1:{nodes}\"\nadvertised-address = \"http://127.0.0.1:{nodes}/\"\n\
             [ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n[admin]\nbind-address = \"127.0.0.1:{admin}\"\n\
             [worker.invoker]\n{settings}{suspending}"
        )
    }
}

/// Returns a free port below those that the system gives to clients, so that none takes it while the server is down.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let process = u16::try_from(std::process::id() % 12_000).unwrap();
    loop {
        let port = 15_000 + (process + NEXT.fetch_add(1, Ordering::Relaxed)) % 15_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Returns the path in a variable.
pub fn variable(name: &str) -> PathBuf {
    let value = env::var_os(name);
    value.unwrap_or_else(|| panic!("`{name}` is not set; `cargo xtask e2e restate` sets it")).into()
}
