//! A server, workers and a project in a folder of their own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use rye::SystemClock;
use rye::sign::{SigningKey, sign_json};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::model;
use crate::server::{Process, Server, variable};

/// How long anything may take. A test never waits for it in vain.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A worker and its address.
pub struct Worker {
    process: Process,
    pub address: String,
}

impl Worker {
    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the worker as a power loss would.
    pub fn kill(self) {
        self.process.kill();
    }
}

/// Returns the memory of a process in KiB.
#[cfg(target_os = "linux")]
pub fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A command that runs beside the test.
pub struct Background {
    process: Process,
    told: BufReader<ChildStderr>,
}

impl Background {
    /// Waits for a message with this text, and returns it.
    pub fn wait_for_line(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            let length = self.told.read_line(&mut line).unwrap();
            assert_ne!(length, 0, "the command ended without `{text}`");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits for the end, and returns the exit code.
    pub fn exit_code(self) -> i32 {
        self.process.exit_code()
    }
}

/// Everything that one test needs.
pub struct Lab {
    folder: TempDir,
    server: Server,
    /// The port of the provider.
    model: u16,
    client: reqwest::Client,
    key: SigningKey,
}

impl Lab {
    /// Starts a server with an empty folder, and makes the project.
    pub async fn new() -> Self {
        Self::with(model::serve(), &[], "").await
    }

    /// Does the same with some settings of the server's `worker.invoker`.
    pub async fn with_settings(settings: &str) -> Self {
        Self::with(model::serve(), &[], settings).await
    }

    /// Does the same with the provider on this port, and with more files in the project.
    pub async fn with(model: u16, files: &[(String, String)], settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("user")).unwrap();
        let server = Server::start(folder.path(), settings);
        let key = SigningKey::generate().unwrap();
        let client =
            reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        let mut lab = Self { folder, server, model, client, key };
        lab.make_operator(files);
        lab.wait_for("the server", || lab.server.is_up(&lab.client)).await;
        lab
    }

    /// Returns the number of the server's process.
    pub fn server_id(&self) -> u32 {
        self.server.id()
    }

    /// Ends the server as a power loss would, and starts it again.
    pub async fn restart_server(&mut self) {
        self.server.restart();
        self.wait_for("the server", || self.server.is_up(&self.client)).await;
    }

    /// Makes the operator's key, a provider that answers by a script, and the signed project that is copied.
    fn make_operator(&mut self, files: &[(String, String)]) {
        let project = self.master();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/project"), &project);
        for (path, text) in files {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.rye(&project, &["keys", "generate", "--owner", "operator"]);
        let private = self.user().join(".ai/config/keys/signing/private_key.pem");
        self.key = SigningKey::from_pkcs8_pem(&fs::read_to_string(private).unwrap()).unwrap();
        let provider = format!(
            "protocol: openai_chat\nbase_url: http://127.0.0.1:{}\nstream: false\nretry: {{ first_delay_ms: 1 }}\n\
             tiers: {{ general: scripted-1, fast: scripted-1, low: small-1, high: gone-1 }}\nmodels:\n\
             \x20 scripted-1: {{ context_window: 1000000, max_output: 1000, prices: {{ input: \"3\", output: \"15\" }} }}\n\
             \x20 small-1: {{ context_window: 1200, max_output: 1000, prices: {{ input: \"3\", output: \"15\" }} }}\n\
             \x20 gone-1: {{ context_window: 1000000, max_output: 1000, prices: {{ input: \"3\", output: \"15\" }} }}\n",
            self.model
        );
        let folder = self.user().join(".ai/tools/rye/agent/providers");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("scripted.yaml"), provider).unwrap();
        let tools = self.user().join(".ai/tools");
        self.rye(&project, &["sign", tools.to_str().unwrap()]);
        self.rye(&project, &["sign", ".ai"]);
    }

    fn user(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    /// Returns the folder of the project that is copied. A signature holds its time, so that all copies have one.
    fn master(&self) -> PathBuf {
        self.folder.path().join("master")
    }

    /// Returns the folder of a worker's own copy of the project, which is made where it is missing.
    pub fn project(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join("projects").join(name);
        if !folder.exists() {
            copy(&self.master(), &folder);
        }
        folder
    }

    /// Runs `rye` in a project, and returns its output.
    pub fn rye(&self, project: &Path, arguments: &[&str]) -> String {
        let (code, told) = self.run_with(project, arguments);
        assert_eq!(code, 0, "rye {arguments:?}: {told}");
        told
    }

    /// Runs a thread of `work/count` on this machine, and approves the call that waits.
    pub fn run_approving(&self, project: &Path, name: &str) {
        let name = format!("name={name}");
        let run = ["run", "work/count", "--provider", "scripted", "--quiet", "--input", &name];
        assert_eq!(self.run_with(project, &run).0, 4);
        assert_eq!(self.run_with(project, &["approve", "--last", "--resume"]).0, 0);
    }

    /// Runs `rye` in a project, and returns its exit code and its output.
    pub fn run_with(&self, project: &Path, arguments: &[&str]) -> (i32, String) {
        self.rye_with_token(project, arguments, "")
    }

    /// Does the same with a bearer token for the engine.
    pub fn rye_with_token(&self, project: &Path, arguments: &[&str], token: &str) -> (i32, String) {
        let mut command = Command::new(variable("RYE"));
        command.args(arguments).arg("--project").arg(project).arg("--user-space").arg(self.user());
        let output = command.env("RYE_ENGINE_TOKEN", token).current_dir(project).output().unwrap();
        let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code().unwrap_or(-1), told.concat())
    }

    /// Runs `rye` in a project with the address of the server, and returns its exit code and its output.
    pub fn rye_there(&self, project: &Path, arguments: &[&str]) -> (i32, String) {
        self.rye_by_name(project, &self.engine(), arguments)
    }

    /// Signs a configuration of the operator that calls the server by this name.
    pub fn name_engine(&self, name: &str) {
        let path = self.user().join(".ai/config/agent/engines.yaml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("engines:\n  {name}: {{ url: \"{}\" }}\n", self.engine()))
            .unwrap();
        self.rye(&self.master(), &["sign", path.to_str().unwrap()]);
    }

    /// Runs `rye` in a project with the address or name of a server, and returns its exit code and its output.
    pub fn rye_by_name(&self, project: &Path, engine: &str, arguments: &[&str]) -> (i32, String) {
        self.run_with(project, &[arguments, &["--engine", engine]].concat())
    }

    /// Returns the address of the server's ingress.
    pub fn engine(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.ingress)
    }

    /// Starts `rye` in a project.
    pub fn rye_in_background(&self, project: &Path, arguments: &[&str]) -> Background {
        let mut command = Command::new(variable("RYE"));
        command.args(arguments).arg("--project").arg(project).arg("--user-space").arg(self.user());
        let command = command.current_dir(project).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        Background { process: Process::of(child), told }
    }

    /// Starts a worker for a project, and has the server send it work.
    pub async fn worker(&self, project: &str) -> Worker {
        let worker = self.unregistered_worker(project);
        self.register(&worker.address).await;
        worker
    }

    /// Starts a worker for a project.
    pub fn unregistered_worker(&self, project: &str) -> Worker {
        self.unregistered_worker_of(&[project])
    }

    /// Starts a worker for several projects.
    pub fn unregistered_worker_of(&self, projects: &[&str]) -> Worker {
        self.worker_with(projects, &[])
    }

    /// Starts a worker with more options.
    pub fn worker_with(&self, projects: &[&str], options: &[&str]) -> Worker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rye-worker"));
        command.args(["--listen", "127.0.0.1:0"]).args(options);
        for project in projects {
            command.arg("--project").arg(self.project(project));
        }
        command.arg("--user-space").arg(self.user());
        command.args(["--ingress", &format!("http://127.0.0.1:{}/", self.server.ingress)]);
        let told = self.folder.path().join(format!("{}.log", projects[0]));
        let log = fs::File::options().create(true).append(true).open(told).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Worker { process: Process::of(child), address: address.trim().to_owned() }
    }

    /// Sends a signed order about a thread, which names the call that waits.
    pub async fn order(&self, thread: &str, purpose: &str, end: &Value) -> Result<Value, String> {
        let order = order(thread, purpose, end);
        self.call(thread, "order", &self.signed(&order)).await
    }

    /// Sends a signed order without waiting for its answer.
    pub async fn send_order(&self, thread: &str, purpose: &str, end: &Value) {
        self.send(thread, "order", &self.signed(&order(thread, purpose, end))).await;
    }

    /// Sends a request to a handler of a thread without waiting for its answer.
    pub async fn send(&self, thread: &str, handler: &str, request: &Value) {
        let ingress = self.server.ingress;
        let address = format!("http://127.0.0.1:{ingress}/RyeThread/{thread}/{handler}/send");
        let sent = self.client.post(address).json(request).send().await.unwrap();
        assert!(sent.status().is_success(), "{sent:?}");
    }

    /// Waits for the end of a thread, and approves each call that waits until then.
    pub async fn approved_end(&self, thread: &str) -> Value {
        loop {
            let end = self.end(thread).await;
            if end["state"] != "suspended" {
                return end;
            }
            self.order(thread, "rye-engine-approve", &end).await.unwrap();
        }
    }

    /// Asks the server's administration for the rows of a query, which no worker sees.
    pub async fn query(&self, query: &str) -> Vec<Value> {
        let address = format!("http://127.0.0.1:{}/query", self.server.admin);
        let request = self.client.post(address).header("accept", "application/json");
        let answer = request.json(&json!({ "query": query })).send().await.unwrap();
        let mut answer: Value = answer.json().await.unwrap();
        serde_json::from_value(answer["rows"].take()).unwrap()
    }

    /// Replaces one value of a thread's state through the server's administration.
    pub async fn edit_state(&self, thread: &str, change: impl Fn(&str) -> String) {
        let rows = self
            .query(&format!("SELECT key, value_utf8 FROM state WHERE service_name = 'RyeThread' AND service_key = '{thread}'"))
            .await;
        let rows = rows.iter();
        let state: serde_json::Map<String, Value> = rows
            .map(|row| {
                let text = change(row["value_utf8"].as_str().unwrap());
                (row["key"].as_str().unwrap().to_owned(), json!(text.as_bytes()))
            })
            .collect();
        let admin = self.server.admin;
        let address = format!("http://127.0.0.1:{admin}/services/RyeThread/state");
        let edited = self.client.post(address);
        let edited =
            edited.json(&json!({"object_key": thread, "new_state": state})).send().await.unwrap();
        assert!(edited.status().is_success(), "{}", edited.text().await.unwrap());
    }

    /// Returns the public key of the server, with which it signs its requests to workers.
    pub fn identity_key(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("server.log")).unwrap();
        let key = log.split("kid: \"").nth(1).and_then(|rest| rest.split('"').next());
        key.expect("because the server logs it").to_owned()
    }

    /// Makes a worker's address the one that the server sends work to.
    pub async fn register(&self, address: &str) {
        self.try_register(address).await.unwrap();
    }

    /// Does the same, or returns the server's refusal.
    pub async fn try_register(&self, address: &str) -> Result<(), String> {
        let admin = format!("http://127.0.0.1:{}/deployments", self.server.admin);
        let deployment = json!({"uri": format!("http://{address}/"), "force": true});
        let answer = self.client.post(admin).json(&deployment).send().await.unwrap();
        let is_registered = answer.status().is_success();
        if is_registered { Ok(()) } else { Err(answer.text().await.unwrap()) }
    }

    /// Calls a handler of a thread's object.
    pub async fn call(&self, thread: &str, handler: &str, body: &Value) -> Result<Value, String> {
        let address =
            format!("http://127.0.0.1:{}/RyeThread/{thread}/{handler}", self.server.ingress);
        let mut request = self.client.post(address);
        if !body.is_null() {
            request = request.json(body);
        }
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let text = answer.text().await.unwrap_or_default();
        if !status.is_success() {
            return Err(format!("{status} {text}"));
        }
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Starts a thread of `work/count`, and returns its id.
    pub async fn start(&self, name: &str) -> String {
        self.start_in(name, &self.master()).await
    }

    /// Does the same as an operator who has the project in this folder.
    pub async fn start_in(&self, name: &str, project: &Path) -> String {
        self.start_with(name, project, &json!({})).await
    }

    /// Starts a thread whose tree may spend this many US dollars.
    pub async fn start_spending(&self, name: &str, spend: &str) -> String {
        self.start_with(name, &self.master(), &json!({"spend": spend})).await
    }

    async fn start_with(&self, name: &str, project: &Path, limits: &Value) -> String {
        let thread = new_thread();
        let bundle = rye::Bundle::of_project(project).unwrap();
        let members = json!({"limits": limits, "inputs": {"name": name}, "project": bundle});
        let request = self.signed_start(&thread, &members);
        self.call(&thread, "start", &request).await.unwrap();
        thread
    }

    /// Returns a signed request to start a thread of `work/count`, with these members.
    pub fn signed_start(&self, thread: &str, members: &Value) -> Value {
        let mut request = json!({
            "purpose": "rye-engine-start",
            "thread": thread,
            "directive": "work/count",
            "provider": "scripted",
            "project": rye::Bundle::of_project(&self.master()).unwrap(),
        });
        for (name, value) in members.as_object().unwrap() {
            request[name] = value.clone();
        }
        self.signed(&request)
    }

    /// Signs a request for this engine with the operator's key.
    pub fn signed(&self, request: &Value) -> Value {
        let now = SystemClock::new().timestamp();
        let mut request = request.clone();
        if request["audience"].is_null() {
            request["audience"] = format!("http://127.0.0.1:{}/", self.server.ingress).into();
        }
        if request["expires"].is_null() {
            request["expires"] = (now.as_unix() + 600).into();
        }
        sign_json(&request, &self.key, now).unwrap()
    }

    /// Waits until the thread has ended or waits for a decision, and returns its end.
    pub async fn end(&self, thread: &str) -> Value {
        self.wait_for(thread, || self.end_so_far(thread)).await
    }

    /// Waits until the thread is in this state, and returns its end.
    pub async fn end_in(&self, thread: &str, state: &str) -> Value {
        let look = || async { self.end_so_far(thread).await.filter(|end| end["state"] == state) };
        self.wait_for(thread, look).await
    }

    /// Returns the end of the thread, or the call that waits; `None` while a worker drives it or the server does not answer.
    pub async fn end_so_far(&self, thread: &str) -> Option<Value> {
        let standing = self.call(thread, "standing", &Value::Null).await.ok()?;
        Some(standing["end"].clone()).filter(|end| !end.is_null())
    }

    /// Looks again and again until there is something to see.
    pub async fn wait_for<T, F: Future<Output = Option<T>>>(
        &self,
        what: &str,
        look: impl Fn() -> F,
    ) -> T {
        self.wait_until(Instant::now() + PATIENCE, what, look).await
    }

    /// Does the same up to a moment.
    pub async fn wait_until<T, F: Future<Output = Option<T>>>(
        &self,
        moment: Instant,
        what: &str,
        look: impl Fn() -> F,
    ) -> T {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            assert!(Instant::now() < moment, "{what} did not come");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns all steps that the engine keeps of a thread.
    pub async fn steps(&self, thread: &str) -> Vec<Value> {
        let mut steps: Vec<Value> = Vec::new();
        loop {
            let page = self.call(thread, "steps", &json!(steps.len())).await.unwrap();
            match page.as_array() {
                Some(page) if !page.is_empty() => steps.extend(page.iter().cloned()),
                _ => return steps,
            }
        }
    }

    /// Writes the transcripts that the engine keeps of a tree into a project, which then has them like its own.
    pub async fn pull(&self, thread: &str, project: &Path) {
        for step in self.steps(thread).await {
            for change in step["changes"].as_array().unwrap() {
                let folder = project.join(".ai/threads").join(change["thread"].as_str().unwrap());
                fs::create_dir_all(&folder).unwrap();
                let path = folder.join("transcript.jsonl");
                let mut text = fs::read_to_string(&path).unwrap_or_default();
                text.truncate(usize::try_from(change["at"].as_u64().unwrap()).unwrap());
                text.push_str(change["text"].as_str().unwrap());
                fs::write(&path, text).unwrap();
            }
        }
    }

    /// The lines of the file to which the tools of a project write, in order of the alphabet.
    pub fn effects(&self, project: &str) -> Vec<String> {
        let text = fs::read_to_string(self.project(project).join("effects.txt"));
        let mut lines: Vec<String> = text.unwrap_or_default().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// Returns an order about the call that waits, if one does.
pub fn order(thread: &str, purpose: &str, end: &Value) -> Value {
    let mut order = json!({"purpose": purpose, "tree": thread});
    let asked = &end["asked"];
    if !asked.is_null() {
        for name in ["thread", "seq", "item", "sha256"] {
            order[name] = asked[name].clone();
        }
    }
    order
}

/// Returns the name of the call that waits, as `--call` takes it.
pub fn call_name(end: &Value) -> String {
    let asked = &end["asked"];
    ["thread", "seq", "sha256", "item"]
        .map(|name| asked[name].to_string())
        .join(":")
        .replace('"', "")
}

/// Returns an id for a new thread of `work/count`.
pub fn new_thread() -> String {
    let clock = SystemClock::new();
    let cancel = rye::thread::Cancel::new();
    let host = rye::Host::new(&clock, &cancel);
    host.new_thread(&"work/count".parse().unwrap()).unwrap().as_str().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
