//! A transcript that a test writes record by record, signed and chained as a run does it.

use rye_sign::SigningKey;
use rye_sign::chain::{Head, sign_checkpoint};
use rye_transcript::{Damage, Reading, ThreadId, ThreadRecord, read};
use rye_types::{LimitSet, Moment};
use rye_view::{Signer, Source};
use serde_json::{Value, json};

pub(crate) const THREAD: &str = "prepare-019a0000-0000-7000-8000-000000000000";
pub(crate) const CHILD: &str = "notes-019a0000-0000-7000-8000-000000000001";
pub(crate) const KEY: &str = include_str!("../../../../examples/keys/example-signing-key.pem");
const START: i64 = 1_795_197_600_000;

pub(crate) struct Recording {
    key: SigningKey,
    thread: ThreadId,
    head: Head,
    count: u64,
    millis: i64,
    pub(crate) lines: String,
}

impl Recording {
    /// A thread that has begun.
    pub(crate) fn begin() -> Self {
        Self::begin_as(THREAD)
    }

    /// A thread with this id that has begun.
    pub(crate) fn begin_as(thread: &str) -> Self {
        let key = SigningKey::from_pkcs8_pem(KEY).unwrap();
        let thread: ThreadId = thread.parse().unwrap();
        let head = Head::genesis();
        let root = thread.as_str().to_owned();
        let mut recording = Self { key, thread, head, count: 0, millis: 0, lines: String::new() };
        let pem = recording.key.public().to_pem();
        recording.add(
            "thread_start",
            json!({
                "format": "rye-transcript", "version": 2, "provider": "scripted", "model": "scripted-1",
                "nanos_per_million_tokens": null, "limits": limits(),
                "tools": [{ "name": "rye_bash_bash", "description": "Runs a command.", "input_schema": { "type": "object" }, "output_schema": null }],
                "palette": {}, "facts": {}, "root": root, "created": Moment::from_unix_millis(START).to_string(), "signed_by": pem,
            }),
        );
        recording.add("system_prompt", json!({ "text": "Be exact.", "sha256": "9b02a74b00" }));
        recording.add("user_message", json!({ "text": "Prepare release 2.4.0." }));
        recording.checkpoint();
        recording
    }

    pub(crate) fn add(&mut self, event: &str, payload: Value) -> &mut Self {
        self.add_with(event, payload, json!({}))
    }

    pub(crate) fn add_after(&mut self, event: &str, payload: Value, wait: u64) -> &mut Self {
        self.add_with(event, payload, json!({ "approval_wait_millis": wait }))
    }

    /// An event of a newer version that this one may go on without.
    pub(crate) fn add_ignorable(&mut self, event: &str, payload: Value) -> &mut Self {
        self.add_with(event, payload, json!({ "ignorable": true }))
    }

    fn add_with(&mut self, event: &str, payload: Value, mut members: Value) -> &mut Self {
        let at = Moment::from_unix_millis(START + self.millis);
        let mut line = json!({
            "seq": self.count, "ts": at.to_string(), "thread_id": self.thread.as_str(), "directive": "release/prepare",
            "event": event, "payload": payload, "prev": self.head.to_string(),
        });
        line.as_object_mut().unwrap().append(members.as_object_mut().unwrap());
        let line = line.to_string();
        self.head = self.head.link(line.as_bytes());
        self.count += 1;
        self.lines.push_str(&line);
        self.lines.push('\n');
        self
    }

    pub(crate) fn wait(&mut self, millis: i64) -> &mut Self {
        self.millis += millis;
        self
    }

    pub(crate) fn checkpoint(&mut self) -> &mut Self {
        let signed =
            sign_checkpoint(&self.head, self.count, self.thread.as_str(), &self.key).unwrap();
        self.add("checkpoint", signed.to_json())
    }

    /// A request and its answer, which takes a second and costs a cent.
    pub(crate) fn turn(&mut self, turn: u64) -> &mut Self {
        let usage = json!({ "input": 900, "output": 100, "cache_read": 50, "cache_write": 0 });
        self.add("step_start", begun(turn, 20_000_000)).wait(1_000).add(
            "step_finish",
            json!({ "turn": turn, "reply": reply(usage), "cost_nanos": 10_000_000 }),
        )
    }

    /// A call of a tool with its result after half a second.
    pub(crate) fn call(
        &mut self,
        id: &str,
        item: &str,
        arguments: Value,
        content: Value,
    ) -> &mut Self {
        let is_error = content.get("failed").is_some();
        self.intent(id, item, arguments).wait(500).add(
            "tool_call_result",
            json!({ "call_id": id, "name": item, "content": content, "is_error": is_error, "refusal": null }),
        )
    }

    pub(crate) fn intent(&mut self, id: &str, item: &str, arguments: Value) -> &mut Self {
        self.add(
            "tool_call_start",
            json!({
                "call_id": id, "name": item.replace('/', "_"), "arguments": arguments,
                "target": { "item_id": item, "capability": "rye.execute.tool", "effect": "read_only" },
            }),
        )
    }

    pub(crate) fn end(&mut self) -> &mut Self {
        self.add("thread_complete", json!({ "turns": 2, "usage": used(0, 0), "cost_nanos": 0, "outputs": { "version": "2.4.0" }, "text": "" }));
        self.checkpoint()
    }

    pub(crate) fn reading(&self) -> Reading {
        self.try_reading().unwrap_or_else(|damage| panic!("{damage}"))
    }

    /// The reading, or the place of a record that decides something and cannot be read.
    pub(crate) fn try_reading(&self) -> Result<Reading, Damage> {
        read(self.lines.as_bytes(), &self.thread, &[self.key.public()])
    }

    pub(crate) fn record(&self) -> ThreadRecord {
        let created = Moment::from_unix_millis(START);
        let mut record =
            ThreadRecord::new(&self.thread, "release/prepare", &LimitSet::default(), created);
        (record.model, record.provider) =
            (Some("scripted-1".to_owned()), Some("scripted".to_owned()));
        record
    }

    /// The page of the thread, signed by a trusted key.
    pub(crate) fn page(&self) -> String {
        self.page_of(Signer::Trusted)
    }

    pub(crate) fn page_of(&self, signer: Signer) -> String {
        let (record, reading) = (self.record(), self.reading());
        let now = Moment::from_unix_millis(START + 3_600_000);
        rye_view::export::html(&Source::new(&record, &reading, signer, now))
    }
}

/// The texts of a page in their order, without its markup.
pub(crate) fn text_of(page: &str) -> String {
    let (_, rest) = page.split_once("<main").unwrap();
    let (main, _) = rest.split_once("</main>").unwrap();
    let texts = main.split('<').filter_map(|tag| tag.split_once('>')).map(|(_, text)| text.trim());
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n").replace(env!("CARGO_PKG_VERSION"), "<VERSION>")
}

/// The beginning of a request.
pub(crate) fn begun(turn: u64, reserved: u64) -> Value {
    json!({ "turn": turn, "reserved_nanos": reserved, "max_output_tokens": 1_000 })
}

/// A reply with these tokens, and without anything else.
pub(crate) fn reply(usage: Value) -> Value {
    json!({ "raw": {}, "text": "", "reasoning": "", "calls": [], "usage": usage, "stop": "end_turn" })
}

/// The limits of a thread.
pub(crate) fn limits() -> Value {
    json!({ "turns": 1, "tokens": 1, "spend_nanos": "unlimited", "duration_seconds": 1, "spawns": 0, "depth": 0 })
}

/// The tokens of an answer or of a thread.
pub(crate) fn used(input: u64, output: u64) -> Value {
    json!({ "input": input, "output": output, "cache_read": 0, "cache_write": 0 })
}
