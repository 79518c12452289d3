//! Helpers of the tests in `it`, which run all crates together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rye::providers::ApiKey;
use rye::resolve::{Spaces, item_at};
use rye::sandbox::ProcessHost;
use rye::sign::chain::{Head, sign_checkpoint};
use rye::sign::{CommentStyle, ItemName, Policy, SigningKey, TrustDocument, sign};
use rye::thread::{
    ApprovalRequest, Cancel, Clock, Decision, Failure, FailureKind, Registry, ThreadId,
    ThreadRecord,
};
use rye::types::{Moment, ThreadState, Timestamp};
use rye::{
    Cancelled, Host, OpenError, ProviderChoice, ReopenError, RunError, RunReport, RunRequest, Rye,
    Secrets, Setup, shipped_files, with_signature,
};
use serde_json::Value;

const PRICES: &str = ".ai/tools/rye/agent/providers/priced.yaml";
const PRICED: &str = "protocol: anthropic_messages\nbase_url: http://127.0.0.1:1\nmodels:\n  \
     test-model: { context_window: 100000, max_output: 1000, prices: { input: '1', output: '5' } }\n  \
     m: { context_window: 100000, max_output: 1000, prices: { input: 0, output: 0 } }\n";

/// A project in its own folder, with a trusted key that signs its items.
#[derive(Debug)]
pub struct Scratch {
    folder: tempfile::TempDir,
    key: Arc<SigningKey>,
    /// The key that signs threads, if there is one.
    operator: Option<Arc<SigningKey>>,
    policy: Policy,
    grants: Option<Vec<String>>,
    /// `true` if its tools may start programs, without a sandbox.
    starts_programs: bool,
}

impl Scratch {
    /// Makes a project with an empty `.ai` folder, and a user space with the prices of the test models.
    ///
    /// # Panics
    ///
    /// The files cannot be written.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        fs::create_dir_all(folder.path().join("project/.ai")).expect("a project");
        fs::create_dir_all(folder.path().join("user/.ai")).expect("a user space");
        fs::create_dir(folder.path().join("calls")).expect("a folder for programs");
        let key = Arc::new(SigningKey::generate().expect("a key"));
        let policy = Policy::default();
        let starts_programs = false;
        let scratch = Self { folder, key, operator: None, policy, grants: None, starts_programs };
        let path = scratch.user().join(PRICES);
        let text =
            with_signature(&path, PRICED, &scratch.key, now()).expect("an item without problems");
        write(&path, &text);
        scratch
    }

    /// Removes the prices of the models from the user space.
    ///
    /// # Panics
    ///
    /// The file of prices cannot be removed.
    #[must_use]
    pub fn without_prices(self) -> Self {
        fs::remove_file(self.user().join(PRICES)).expect("a file of prices");
        self
    }

    /// Lets tools start programs without a sandbox.
    #[must_use]
    pub fn with_programs(self) -> Self {
        Self { starts_programs: true, ..self }
    }

    /// Sets the policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Signs threads with the project's key.
    #[must_use]
    pub fn with_operator(self) -> Self {
        Self { operator: Some(Arc::clone(&self.key)), ..self }
    }

    /// Signs threads with a new key, as another operator does who trusts the project's key.
    ///
    /// # Panics
    ///
    /// The system has no random bytes.
    #[must_use]
    pub fn with_another_operator(self) -> Self {
        let key = SigningKey::generate().expect("a key");
        Self { operator: Some(Arc::new(key)), ..self }
    }

    /// Limits the grants of the project's key to these patterns.
    #[must_use]
    pub fn with_ceiling(self, patterns: &[&str]) -> Self {
        Self {
            grants: Some(patterns.iter().map(|pattern| (*pattern).to_owned()).collect()),
            ..self
        }
    }

    /// The folder that holds the project's `.ai`.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The folder that holds the user's `.ai`.
    #[must_use]
    pub fn user(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    /// The folder in which the policy of the project is pinned.
    #[must_use]
    pub fn pins(&self) -> PathBuf {
        self.user().join(".ai/state/policy")
    }

    /// Writes a file of the project, unsigned.
    ///
    /// # Panics
    ///
    /// The file cannot be written.
    pub fn put(&self, path: &str, text: &str) -> PathBuf {
        write(&self.project().join(path), text)
    }

    /// Writes a file of the user space, unsigned.
    ///
    /// # Panics
    ///
    /// The file cannot be written.
    pub fn put_user(&self, path: &str, text: &str) -> PathBuf {
        write(&self.user().join(path), text)
    }

    /// Writes an item of the project, signed.
    ///
    /// # Panics
    ///
    /// The item has problems that prevent signing.
    pub fn sign(&self, path: &str, text: &str) -> PathBuf {
        let path = self.project().join(path);
        let text = with_signature(&path, text, &self.key, now()).expect("an item without problems");
        write(&path, &text)
    }

    /// Writes an item of the user space, signed.
    ///
    /// # Panics
    ///
    /// The item has problems that prevent signing.
    pub fn sign_user(&self, path: &str, text: &str) -> PathBuf {
        let path = self.user().join(path);
        let text = with_signature(&path, text, &self.key, now()).expect("an item without problems");
        write(&path, &text)
    }

    /// Writes an item of the project, signed without checks.
    ///
    /// # Panics
    ///
    /// The path is not that of an item.
    pub fn sign_unchecked(&self, path: &str, text: &str) -> PathBuf {
        let path = self.project().join(path);
        let spaces = Spaces::new().with_project(self.project());
        let (kind, id, _) = item_at(&spaces, &path).expect("the place of an item");
        let name = ItemName::new(kind.as_str(), id.as_str()).expect("a name");
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let style = CommentStyle::of_extension(&extension).expect("a file with comments");
        write(&path, &sign(text, style, &name, &self.key, now()))
    }

    /// Opens the library over the project, the user space and the shipped items.
    ///
    /// # Panics
    ///
    /// The library cannot be opened.
    #[must_use]
    pub fn rye(&self) -> Rye {
        self.open().expect("spaces that open")
    }

    /// Opens the library over the project, the user space and the shipped items.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::open`].
    pub fn open(&self) -> Result<Rye, OpenError> {
        Rye::open(&self.setup())
    }

    /// The settings with which the library is opened.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let spaces = Spaces::new()
            .with_project(self.project())
            .with_user(self.user())
            .with_shipped(shipped_files());
        let mut document = TrustDocument::new("the tester", self.key.public());
        if let Some(grants) = &self.grants {
            document = document.with_grants(grants.clone());
        }
        let mut setup = Setup::new(spaces, now());
        setup.own_key = Some(self.key.public());
        setup.policy = self.policy.clone();
        setup.policy_pins = Some(self.pins());
        setup.processes = self.starts_programs.then(|| {
            let mut host = ProcessHost::new(self.folder.path());
            drop(host.environment.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned()));
            host
        });
        let name = document.item_name();
        setup.trust_documents =
            vec![sign(&document.to_toml(), CommentStyle::Hash, &name, &self.key, now())];
        setup
    }

    /// Runs a directive with the `steps` provider.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::run`].
    pub async fn run(&self, id: &str, inputs: &[(&str, &str)]) -> Result<RunReport, RunError> {
        self.run_with(id, inputs, |request| request.provider = ProviderChoice::Steps).await
    }

    /// Runs a directive with a request that `change` edits.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::run`].
    pub async fn run_with(
        &self,
        id: &str,
        inputs: &[(&str, &str)],
        change: impl FnOnce(&mut RunRequest),
    ) -> Result<RunReport, RunError> {
        let thread =
            ThreadId::new(id, "019a0000-0000-7000-8000-000000000001").expect("a thread id");
        let mut request = RunRequest::new(id.parse().expect("an id"), thread);
        request.inputs =
            inputs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        change(&mut request);
        let cancel = Cancel::new();
        self.rye().run(request, self.host(&cancel)).await
    }

    /// Runs a directive with the `steps` provider and this clock.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::run`].
    pub async fn run_at(&self, id: &str, clock: &dyn Clock) -> Result<RunReport, RunError> {
        let thread =
            ThreadId::new(id, "019a0000-0000-7000-8000-000000000001").expect("a thread id");
        let mut request = RunRequest::new(id.parse().expect("an id"), thread);
        request.provider = ProviderChoice::Steps;
        let cancel = Cancel::new();
        self.rye().run(request, Host { clock, ..self.host(&cancel) }).await
    }

    /// Resumes a thread.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::resume`].
    pub async fn resume(&self, thread: &ThreadId) -> Result<RunReport, ReopenError> {
        self.resume_at(thread, &StoppedClock).await
    }

    /// Resumes a thread with this clock.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::resume`].
    pub async fn resume_at(
        &self,
        thread: &ThreadId,
        clock: &dyn Clock,
    ) -> Result<RunReport, ReopenError> {
        let cancel = Cancel::new();
        self.rye().resume(thread, Host { clock, ..self.host(&cancel) }).await
    }

    /// Decides on the call that a thread waits for.
    ///
    /// # Panics
    ///
    /// No call waits for a decision.
    pub fn decide(&self, thread: &ThreadId, decision: &Decision) {
        drop(self.try_decide(thread, decision).expect("a call that waits"));
    }

    /// Decides on the call that a thread waits for, if there is one.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::decide`].
    pub fn try_decide(
        &self,
        thread: &ThreadId,
        decision: &Decision,
    ) -> Result<ApprovalRequest, ReopenError> {
        let cancel = Cancel::new();
        self.rye().decide(thread, decision, &self.host(&cancel))
    }

    /// Cancels a thread and its descendants with this clock.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::cancel`].
    pub fn cancel(&self, thread: &ThreadId, clock: &dyn Clock) -> Result<Cancelled, ReopenError> {
        let cancel = Cancel::new();
        self.rye().cancel(thread, &Host { clock, ..self.host(&cancel) })
    }

    /// Changes the record of a thread and signs it again with the operator's key.
    ///
    /// # Panics
    ///
    /// There is no record that the project's key signed.
    pub fn edit(&self, thread: &ThreadId, change: impl FnOnce(&mut ThreadRecord)) {
        let folder = self.project().join(".ai/threads").join(thread.as_str());
        let mut record = ThreadRecord::read(&folder, &[self.key.public()]).expect("a record");
        change(&mut record);
        record.write(&folder, &self.key).expect("a record that can be written");
    }

    /// Changes the records of a thread's transcript, and chains and signs them again with the operator's key. The derived record
    /// is removed, so that it is computed again.
    ///
    /// # Panics
    ///
    /// The thread has no transcript that can be read.
    pub fn edit_transcript(&self, thread: &ThreadId, mut change: impl FnMut(&mut Value)) {
        let folder = self.project().join(".ai/threads").join(thread.as_str());
        let path = folder.join("transcript.jsonl");
        let text = fs::read_to_string(&path).expect("a transcript");
        let (mut head, mut lines) = (Head::genesis(), String::new());
        for (seq, line) in text.lines().enumerate() {
            let mut record: Value = serde_json::from_str(line).expect("a record");
            change(&mut record);
            if record["event"] == "checkpoint" {
                let checkpoint = sign_checkpoint(&head, seq as u64, thread.as_str(), &self.key);
                record["payload"] = checkpoint.expect("a checkpoint").to_json();
            }
            record["prev"] = head.to_string().into();
            let line = record.to_string();
            head = head.link(line.as_bytes());
            lines.push_str(&format!("{line}\n"));
        }
        write(&path, &lines);
        fs::remove_file(folder.join("thread.json")).expect("a derived record");
    }

    /// Turns a thread into one whose preparation failed, with an empty transcript.
    ///
    /// # Panics
    ///
    /// There is no record that the project's key signed.
    pub fn make_unbegun(&self, thread: &ThreadId) {
        let folder = self.project().join(".ai/threads").join(thread.as_str());
        for name in ["transcript.jsonl", "transcript.md"] {
            write(&folder.join(name), "");
        }
        self.edit(thread, |record| {
            (record.state, record.transcript, record.outputs) = (ThreadState::Error, None, None);
            record.failure = Some(Failure::new(FailureKind::Preparation, "for a test"));
            let registry = Registry::open(&self.project().join(".ai/threads/registry.db"));
            let entered = registry.expect("a registry").enter(record);
            entered.expect("a registry that takes a record");
        });
    }

    /// Returns the host that a program of this operator uses.
    #[must_use]
    pub fn host<'a>(&self, cancel: &'a Cancel) -> Host<'a> {
        Host { signing_key: self.operator.clone(), ..host(cancel) }
    }

    /// Returns the names and payloads of the events of the thread in `report`.
    ///
    /// # Panics
    ///
    /// The transcript cannot be verified.
    #[must_use]
    pub fn events(&self, report: &RunReport) -> Vec<(String, Value)> {
        let threads = self.project().join(".ai/threads");
        let reading = self.rye().thread(&threads, &report.thread).expect("a thread that verifies");
        let payload = |text: &str| serde_json::from_str(text).expect("a payload");
        reading
            .transcript
            .records
            .iter()
            .map(|record| (record.name().to_owned(), payload(record.payload.get())))
            .collect()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// The folder of the founding documents, next to the checkout. Without it the tests that read it are ignored.
#[must_use]
pub fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/seeds")
}

/// The text of the seed whose file name begins with `number`.
///
/// # Panics
///
/// The file does not exist.
#[must_use]
pub fn seed(number: &str) -> String {
    let entries =
        fs::read_dir(seeds()).expect("the seeds").map(|entry| entry.expect("an entry").path());
    let is_it = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(number))
    };
    let path = entries.into_iter().find(is_it).expect("the seed");
    fs::read_to_string(path).expect("a seed of text")
}

/// The inputs of a request, by name.
#[must_use]
pub fn inputs(rows: &[(&str, &str)]) -> BTreeMap<String, Value> {
    rows.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect()
}

fn now() -> Timestamp {
    StoppedClock.now().timestamp()
}

fn host(cancel: &Cancel) -> Host<'_> {
    Host {
        clock: &StoppedClock,
        secrets: &TestKey,
        observer: &(),
        approver: &(),
        cancel,
        random: Arc::new(|| 7),
        signing_key: None,
    }
}

fn write(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder that can be made");
    fs::write(path, text).expect("a file that can be written");
    path.to_owned()
}

/// A clock that stands still.
#[derive(Debug)]
pub struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Moment {
        Moment::from_unix_millis(1_795_197_600_000)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// The same key for every provider.
#[derive(Debug)]
struct TestKey;

impl Secrets for TestKey {
    fn api_key(&self, _name: &str) -> Option<ApiKey> {
        "sk-test-secret".parse().ok()
    }
}

/// The directive `write`, whose only step writes `out.txt`. `metadata` is added to its metadata, and `tail`
/// to the end of its fence.
#[must_use]
pub fn writing(metadata: &str, tail: &str) -> String {
    format!(
        r#"# Write

```xml
<directive name="write" version="1.0.0">
  <metadata><description>Writes a file.</description>{metadata}</metadata>
  {tail}
</directive>
```

<process>
  <step name="write">
    <execute item_type="tool" item_id="rye/file-system/write">
      <param name="path" value="out.txt" />
      <param name="content" value="hello" />
    </execute>
  </step>
</process>
"#
    )
}
