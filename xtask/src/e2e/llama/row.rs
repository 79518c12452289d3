//! A thread to run, and its expected result.

use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::project::{MAX_OUTPUT, PRICES, Project};

/// A protocol of the server.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Protocol {
    Chat,
    Messages,
    Responses,
}

impl Protocol {
    pub(super) const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    pub(super) fn config_word(self) -> &'static str {
        match self {
            Self::Chat => "openai_chat",
            Self::Messages => "anthropic_messages",
            Self::Responses => "openai_responses",
        }
    }

    /// The name of the provider's configuration.
    pub(super) fn provider(self, server: &str, is_streamed: bool) -> String {
        let delivery = if is_streamed { "streamed" } else { "whole" };
        format!("{server}-{}-{delivery}", self.config_word())
    }
}

/// The task of a thread.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Task {
    /// The model reasons, reads two files at once, and reports their content.
    Look,
    /// The same, and the model returns outputs.
    Give,
    /// The model writes a file, which needs approval, so the thread is suspended and resumed.
    Put,
    /// The model writes random letters up to its limit.
    Noise,
    /// The model writes random tokens, including parts of calls. The end is not known beforehand.
    Wild,
}

impl Task {
    pub(super) const ALL: [Self; 5] = [Self::Look, Self::Give, Self::Put, Self::Noise, Self::Wild];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Give => "give",
            Self::Look => "look",
            Self::Noise => "noise",
            Self::Put => "put",
            Self::Wild => "wild",
        }
    }

    pub(super) fn tool(self) -> &'static str {
        match self {
            Self::Give | Self::Look | Self::Noise | Self::Wild => "rye.file-system.read",
            Self::Put => "rye.file-system.write",
        }
    }

    pub(super) fn outputs(self) -> &'static str {
        match self {
            Self::Give => {
                "  <outputs>\n    <output name=\"count\" type=\"integer\" required=\"true\">How many</output>\n    \
                 <output name=\"summary\" type=\"string\" required=\"true\">What of</output>\n  </outputs>\n"
            }
            Self::Look | Self::Noise | Self::Put | Self::Wild => "",
        }
    }

    pub(super) fn is_scripted(self) -> bool {
        !matches!(self, Self::Noise | Self::Wild)
    }

    fn server(self) -> &'static str {
        match self {
            Self::Give | Self::Look | Self::Put => "scripted",
            Self::Noise => "noise",
            Self::Wild => "wild",
        }
    }

    /// The expected results of the tools, each with its error flag, or `None` if they are not known
    /// beforehand.
    fn results(self) -> Option<Value> {
        let read = json!(["rye_file_system_read", false]);
        match self {
            Self::Give => Some(json!([read, read, ["rye_agent_threads_directive_return", false]])),
            Self::Look => Some(json!([read, read])),
            Self::Noise => Some(json!([])),
            Self::Put => Some(json!([["rye_file_system_write", false]])),
            Self::Wild => None,
        }
    }

    /// The expected report of the thread, by `rye run` or at last by `rye resume`.
    fn end(self, protocol: Protocol) -> Value {
        let said = "Both notes are read: bread, and Lisbon.";
        match self {
            Self::Give => json!({ "state": "completed", "turns": 2, "failure": null,
                "outputs": { "count": 2, "summary": "Bread and Lisbon." } }),
            Self::Look | Self::Put => json!({ "state": "completed", "turns": 2, "failure": null,
                "outputs": null, "text": said }),
            // In this protocol the server reports a cut answer as complete.
            Self::Noise if protocol == Protocol::Responses => {
                json!({ "state": "completed", "turns": 1, "outputs": null, "failure": null })
            }
            Self::Noise => json!({ "state": "error", "turns": 1, "outputs": null }),
            Self::Wild => json!({ "outputs": null }),
        }
    }
}

/// A thread to run.
pub(super) struct Row {
    pub(super) protocol: Protocol,
    pub(super) is_streamed: bool,
    pub(super) task: Task,
}

/// The result of a row, with its faults.
pub(super) struct Judged {
    pub(super) protocol: Protocol,
    pub(super) is_streamed: bool,
    pub(super) task: Task,
    pub(super) state: String,
    pub(super) calls: usize,
    /// The numbers of input tokens, without cached ones, and of output tokens.
    pub(super) usage: [u64; 2],
    pub(super) cached: u64,
    pub(super) cost: u64,
    pub(super) milliseconds: u128,
    pub(super) faults: Vec<String>,
}

impl Row {
    /// Runs the thread, and verifies and replays its transcript.
    pub(super) fn run(&self, project: &Project<'_>) -> Judged {
        let Self { protocol, is_streamed, task } = *self;
        let mut judged = Judged {
            protocol,
            is_streamed,
            task,
            state: String::new(),
            calls: 0,
            usage: [0; 2],
            cached: 0,
            cost: 0,
            milliseconds: 0,
            faults: Vec::new(),
        };
        let began = Instant::now();
        let report = self.report(project, &mut judged);
        judged.milliseconds = began.elapsed().as_millis();
        let looked = report.and_then(|report| judged.look(project, &report));
        judged.faults.extend(looked.err().map(|error| format!("{error:#}")));
        judged
    }

    /// Runs the thread to its end, with approval and resumption if it waits, and returns the report.
    fn report(&self, project: &Project<'_>, judged: &mut Judged) -> anyhow::Result<Value> {
        let provider = self.protocol.provider(self.task.server(), self.is_streamed);
        let directive = format!("llama/{}", self.task.name());
        project.remove(WRITTEN);
        let (exit, report) = project.thread(&["run", &directive, "--provider", &provider])?;
        if self.task != Task::Put {
            let ended_well = report["state"] == "completed";
            judged.expect("exit code", &json!(exit), &json!(i32::from(!ended_well)));
            return Ok(report);
        }
        judged.expect("exit code of a thread that waits", &json!(exit), &json!(4));
        judged.expect("state while it waits", &report["state"], &json!("suspended"));
        judged.expect(
            "what is written before the approval",
            &json!(project.read(WRITTEN)),
            &Value::Null,
        );
        let thread = report["thread"].as_str().unwrap_or_default();
        let approved = project.call(&["approve", thread])?;
        judged.expect("exit code of the approval", &json!(approved.status.code()), &json!(0));
        let (exit, report) = project.thread(&["resume", thread])?;
        judged.expect("exit code of the resumed thread", &json!(exit), &json!(0));
        judged.expect("what is written", &json!(project.read(WRITTEN)), &json!("Two notes."));
        Ok(report)
    }
}

/// The file that the model writes.
const WRITTEN: &str = "out.md";

impl Judged {
    fn expect(&mut self, what: &str, found: &Value, expected: &Value) {
        if found != expected {
            self.faults.push(format!("{what}: {found} and not {expected}"));
        }
    }

    /// Checks the report, the records, the verification and the replay.
    fn look(&mut self, project: &Project<'_>, report: &Value) -> anyhow::Result<()> {
        self.state = report["state"].as_str().unwrap_or("?").to_owned();
        self.cost = report["cost_nanos"].as_u64().unwrap_or_default();
        let end = self.task.end(self.protocol);
        for (name, expected) in end.as_object().into_iter().flatten() {
            self.expect(name, &report[name], expected);
        }
        let thread = report["thread"].as_str().context("the report names no thread")?.to_owned();
        let (_, shown) = project.thread(&["threads", "show", &thread])?;
        self.look_at_record(&shown);
        let (_, verified) = project.thread(&["threads", "verify", &thread])?;
        self.expect("verified", &verified["verified"], &json!(true));
        self.expect("vouched for by", &verified["vouched_by"], &json!("trusted_key"));
        let (exit, replayed) = project.thread(&["replay", &thread])?;
        self.expect("exit code of the replay", &json!(exit), &json!(0));
        self.expect("divergence of the replay", &replayed["divergence"], &Value::Null);
        Ok(())
    }

    fn look_at_record(&mut self, shown: &Value) {
        let records = shown["records"].as_array().cloned().unwrap_or_default();
        let of = |event: &str| -> Vec<&Value> {
            let payloads = records.iter().filter(|record| record["event"] == event);
            payloads.map(|record| &record["payload"]).collect()
        };
        let results: Value =
            of("tool_call_result").iter().map(|it| json!([it["name"], it["is_error"]])).collect();
        self.calls = results.as_array().map_or(0, Vec::len);
        if let Some(expected) = self.task.results() {
            self.expect("results of tools", &results, &expected);
        }
        let thought: Value =
            of("assistant_reasoning").iter().map(|it| it["text"].clone()).collect();
        let thinks = matches!(self.task, Task::Give | Task::Look);
        let thoughts = if thinks { json!(["Both files are needed.\n"]) } else { json!([]) };
        if self.task != Task::Wild {
            self.expect("reasoning", &thought, &thoughts);
        }
        let finished = of("step_finish");
        let sum = |name: &str| -> u64 {
            finished.iter().filter_map(|it| it["reply"]["usage"][name].as_u64()).sum()
        };
        self.usage = [sum("input"), sum("output")];
        self.cached = sum("cache_read");
        let cost = self.usage[0] * PRICES[0] + self.usage[1] * PRICES[1] + self.cached * PRICES[2];
        // The server answers some requests for random text with an error. It may bill such an attempt, which counts as reserved.
        let requests = of("step_start");
        let reservation = |retried: &&Value| {
            // An answer that is not used was counted.
            if ["cut_call", "empty", "malformed"].iter().any(|class| retried["class"] == *class) {
                return retried["cost_nanos"].as_u64();
            }
            let request = requests.iter().find(|request| request["turn"] == retried["turn"]);
            request.and_then(|request| request["reserved_nanos"].as_u64())
        };
        let retried: u64 = of("request_retried").iter().filter_map(reservation).sum();
        let cost = cost + retried;
        // A failed request may have cost up to its reservation.
        let failed = shown["failure"]["kind"] == "provider";
        if !failed || self.cost < cost {
            self.expect("cost", &json!(self.cost), &json!(cost));
        }
        if self.task == Task::Noise {
            self.expect("tokens of the cut answer", &json!(self.usage[1]), &json!(MAX_OUTPUT));
        }
        if self.task == Task::Noise && self.protocol != Protocol::Responses {
            self.expect("failure", &shown["failure"]["kind"], &json!("cut_off"));
        }
    }
}
