//! The pass over the records that makes the model.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use rye_transcript::{Event, EventKind, Record, Spawn, ThreadId};

use rye_transcript::payload::{
    Asked, ChildEnd, Intent, Receipt, RequestFailed, RequestRetried, StepStart,
};
use rye_types::{Nanos, ThreadState, Usage};
use serde_json::Value;

use super::{ActiveClock, Entry, Pause, PauseKind, Section, Span, SpanKind, Thread};
use super::{is_bad, item_name, item_of_call, main_argument};
use crate::Source;

/// A request under way.
struct Attempt {
    start: i64,
    seq: u64,
    turn: u64,
}

/// A call whose result is not recorded yet.
struct OpenCall {
    section: usize,
    entry: usize,
    start: i64,
    seq: u64,
    label: String,
}

/// A child whose end is not recorded yet: the place of its span, and those of the section and the entry that started it.
struct OpenChild {
    span: usize,
    section: usize,
    entry: usize,
}

/// The model so far.
pub(super) struct Fold<'a> {
    thread: Thread<'a>,
    attempt: Option<Attempt>,
    /// By the provider's id of the call.
    calls: BTreeMap<String, OpenCall>,
    /// The place of the open approval among the pauses, and of its entry.
    approval: Option<(usize, usize, usize)>,
    /// The calls that waited for a decision and have no intent yet.
    asked: BTreeSet<String>,
    /// The children that have not ended, by their threads.
    children: BTreeMap<ThreadId, OpenChild>,
}

impl<'a> Fold<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        let thread = Thread {
            source,
            prefix: String::new(),
            window: None,
            child_ends: rye_transcript::ended_children(source.reading),
            pending: rye_transcript::pending_approval(source.reading),
            decision: None,
            clock: ActiveClock::default(),
            sections: vec![Section::default()],
            spans: Vec::new(),
            pauses: Vec::new(),
            checkpoints: Vec::new(),
            turns: 0,
            usage: Usage::default(),
            errors: Vec::new(),
            approvals: Vec::new(),
            refusals: 0,
        };
        let calls = BTreeMap::new();
        let children = BTreeMap::new();
        let asked = BTreeSet::new();
        Self { thread, attempt: None, calls, approval: None, asked, children }
    }

    pub(super) fn take(&mut self, index: usize, record: &Record) {
        let before = self.thread.clock.last();
        let event = record.event().ok();
        let wall = self.thread.clock.add(record, event.as_ref());
        if index == 0 {
            self.section().start = wall;
        }
        self.section().end = wall;
        match event {
            Some(Event::Checkpoint(_)) => self.thread.checkpoints.push(record.seq),
            Some(Event::StepStart(step)) => self.begin(index, record, &step, wall),
            Some(Event::StepFinish(step)) => self.answer(step.cost, step.reply.usage, wall),
            Some(Event::RequestRetried(retried)) => self.retry(index, &retried, wall),
            Some(Event::RequestFailed(failed)) => self.fail(index, record, &failed, wall),
            Some(Event::ToolCallStart(call)) => self.call(index, record, call, wall),
            Some(Event::ToolCallResult(receipt)) => self.result(index, record, &receipt, wall),
            Some(Event::SpawnChild(spawn)) => self.spawn(index, record, spawn, wall),
            Some(Event::ChildEnded(end)) => self.end_child(index, &end, wall),
            Some(Event::ApprovalRequested(asked)) => self.ask(index, record, asked, wall),
            Some(Event::ApprovalDecided(_)) => self.decide(index, wall),
            Some(Event::ThreadResumed(_)) => self.resume(index, record, before, wall),
            Some(Event::ThreadError(_)) => {
                self.note_error(record.seq);
                self.add(index);
            }
            _ => {
                // A reply may be unreadable for itself, and is shown as it was recorded. Its request has ended, and cost money.
                if record.kind == EventKind::StepFinish
                    && let Ok(step) = record.finish()
                {
                    self.answer(step.cost, Usage::default(), wall);
                }
                self.add(index);
            }
        }
    }

    pub(super) fn finish(mut self) -> Thread<'a> {
        let last = self.thread.clock.last();
        if let Some(attempt) = self.attempt.take() {
            self.span(SpanKind::Model, &attempt, last, String::new());
        }
        for child in mem::take(&mut self.children).into_values() {
            if let Some(span) = self.thread.spans.get_mut(child.span) {
                span.end = last;
            }
        }
        for call in mem::take(&mut self.calls).into_values() {
            let span = self.tool_span(&call, last);
            self.thread.spans.push(span);
        }
        let turns = self.thread.sections.iter().filter_map(|section| {
            let turn = section.turn?;
            let seq = self.thread.record(section.entries.first()?.index)?.seq;
            let time = (section.start, section.end);
            let span = Span::new(SpanKind::Turn, time, turn.to_string(), seq, turn);
            let (cost, tokens) = (section.cost, section.usage.total());
            Some(Span { end: section.end, cost, tokens, ..span })
        });
        let turns: Vec<Span> = turns.collect();
        self.thread.spans.extend(turns);
        self.thread.spans.sort_by_key(|span| (span.start, span.seq));
        self.thread
    }

    fn section(&mut self) -> &mut Section {
        self.thread.sections.last_mut().expect("because the first is made with the fold")
    }

    /// Adds an entry and returns the places of its section and of itself.
    fn add(&mut self, index: usize) -> (usize, usize) {
        let section = self.thread.sections.len() - 1;
        let entries = &mut self.section().entries;
        entries.push(Entry::new(index));
        (section, entries.len() - 1)
    }

    fn entry(&mut self, (section, entry): (usize, usize)) -> Option<&mut Entry> {
        self.thread.sections.get_mut(section)?.entries.get_mut(entry)
    }

    fn note_error(&mut self, seq: u64) {
        self.thread.errors.push(seq);
        self.section().has_error = true;
    }

    fn begin(&mut self, index: usize, record: &Record, step: &StepStart, wall: i64) {
        let turn = step.turn;
        // A request that a resumed thread sends again belongs to the turn that it began.
        if self.section().turn != Some(turn) {
            let section = Section {
                turn: Some(turn),
                first: index,
                start: wall,
                end: wall,
                ..Section::default()
            };
            self.thread.sections.push(section);
        }
        self.attempt = Some(Attempt { start: wall, seq: record.seq, turn });
    }

    fn answer(&mut self, cost: Nanos, usage: Usage, wall: i64) {
        self.thread.turns += 1;
        self.thread.usage = self.thread.usage.plus(&usage);
        let section = self.section();
        section.cost = section.cost.saturating_add(cost);
        section.usage = section.usage.plus(&usage);
        if let Some(attempt) = self.attempt.take() {
            self.span(SpanKind::Model, &attempt, wall, String::new());
            if let Some(span) = self.thread.spans.last_mut() {
                (span.cost, span.tokens) = (cost, usage.total());
            }
        }
    }

    fn retry(&mut self, index: usize, retried: &RequestRetried, wall: i64) {
        // The back-off counts as the retry's, up to the next attempt.
        let wait = i64::try_from(retried.wait.as_millis()).unwrap_or(LONGEST_WAIT);
        let next = wall + wait.min(LONGEST_WAIT);
        let attempt = self.end_attempt(retried.class.to_string(), retried.cost, next);
        self.attempt = attempt.map(|attempt| Attempt { start: next, ..attempt });
        self.add(index);
    }

    fn fail(&mut self, index: usize, record: &Record, failed: &RequestFailed, wall: i64) {
        self.end_attempt(failed.class.clone(), failed.cost, wall);
        self.note_error(record.seq);
        self.add(index);
    }

    /// Adds what an attempt without an answer cost, and its span.
    fn end_attempt(&mut self, class: String, cost: Nanos, end: i64) -> Option<Attempt> {
        let section = self.section();
        section.cost = section.cost.saturating_add(cost);
        let attempt = self.attempt.take()?;
        self.span(SpanKind::Retry, &attempt, end, class);
        if let Some(span) = self.thread.spans.last_mut() {
            (span.cost, span.is_bad) = (cost, true);
        }
        Some(attempt)
    }

    fn span(&mut self, kind: SpanKind, attempt: &Attempt, end: i64, label: String) {
        let Attempt { start, seq, turn } = *attempt;
        self.thread.spans.push(Span::new(kind, (start, end), label, seq, turn));
    }

    fn call(&mut self, index: usize, record: &Record, call: Intent, wall: i64) {
        let (section, entry) = self.add(index);
        let (item, arguments) = item_of_call(&call);
        let (short, label) = names(item, arguments);
        if !self.asked.remove(&call.call_id) {
            self.section().calls.push(short);
        }
        let open = OpenCall { section, entry, start: wall, seq: record.seq, label };
        self.calls.insert(call.call_id, open);
    }

    fn result(&mut self, index: usize, record: &Record, receipt: &Receipt, wall: i64) {
        let is_bad = is_bad(receipt);
        self.thread.refusals += u64::from(receipt.refusal.is_some());
        let Some(call) = self.calls.remove(&receipt.call_id) else {
            // A call that was refused before it became an intent has a result alone.
            self.section().calls.push(item_name(&receipt.name));
            if is_bad {
                self.note_error(record.seq);
            }
            self.add(index);
            return;
        };
        if is_bad {
            self.thread.errors.push(call.seq);
            if let Some(section) = self.thread.sections.get_mut(call.section) {
                section.has_error = true;
            }
        }
        let span = Span { is_bad, ..self.tool_span(&call, wall) };
        self.thread.spans.push(span);
        if let Some(entry) = self.entry((call.section, call.entry)) {
            entry.result = Some(index);
        }
    }

    fn tool_span(&self, call: &OpenCall, end: i64) -> Span {
        let turn = self.thread.sections.get(call.section).and_then(|section| section.turn);
        let time = (call.start, end);
        Span::new(SpanKind::Tool, time, call.label.clone(), call.seq, turn.unwrap_or(0))
    }

    fn spawn(&mut self, index: usize, record: &Record, spawn: Spawn, wall: i64) {
        let place = self.calls.get(&spawn.call_id).map(|call| (call.section, call.entry));
        let (section, entry) = match place {
            Some(place) => place,
            None => self.add(index),
        };
        if place.is_some()
            && let Some(entry) = self.entry((section, entry))
        {
            entry.children.push(index);
        }
        let child = OpenChild { span: self.thread.spans.len(), section, entry };
        self.children.insert(spawn.child, child);
        let turn = self.thread.sections.last().and_then(|section| section.turn).unwrap_or(0);
        let time = (wall, wall);
        let span = Span::new(SpanKind::Child, time, spawn.directive, record.seq, turn);
        self.thread.spans.push(span);
    }

    fn end_child(&mut self, index: usize, end: &ChildEnd, wall: i64) {
        let Some(child) = self.children.remove(&end.child) else { return };
        if let Some(entry) = self.entry((child.section, child.entry)) {
            entry.ends.push(index);
        }
        if let Some(span) = self.thread.spans.get_mut(child.span) {
            span.end = wall;
            span.cost = end.cost;
            span.is_bad = end.state == ThreadState::Error;
        }
    }

    fn ask(&mut self, index: usize, record: &Record, asked: Asked, wall: i64) {
        let (section, entry) = self.add(index);
        // The intent of the call follows its approval, and is not counted again.
        self.section().calls.push(names(&asked.item_id, &asked.arguments).0);
        self.asked.insert(asked.call_id);
        self.approval = Some((self.thread.pauses.len(), section, entry));
        let kind = PauseKind::Approval;
        self.thread.pauses.push(Pause { kind, start: wall, end: None, seq: record.seq });
        self.thread.approvals.push(record.seq);
        let section = self.section();
        section.has_approval = true;
        section.is_waiting = true;
    }

    fn decide(&mut self, index: usize, wall: i64) {
        let Some((pause, section, entry)) = self.approval.take() else {
            self.add(index);
            return;
        };
        if let Some(pause) = self.thread.pauses.get_mut(pause) {
            pause.end = Some(wall);
        }
        if let Some(section) = self.thread.sections.get_mut(section) {
            section.is_waiting = false;
        }
        if let Some(entry) = self.entry((section, entry)) {
            entry.result = Some(index);
        }
    }

    /// Notes the time without a process, unless a call waited meanwhile.
    fn resume(&mut self, index: usize, record: &Record, before: i64, wall: i64) {
        if self.approval.is_none() && before + SHORTEST_STOP < wall {
            let kind = PauseKind::Stopped;
            let seq = record.seq;
            self.thread.pauses.push(Pause { kind, start: before, end: Some(wall), seq });
        }
        self.attempt = None;
        self.add(index);
    }
}

/// The longest back-off that is believed, in milliseconds: a day.
const LONGEST_WAIT: i64 = 86_400_000;

/// The shortest stop that is shown, in milliseconds.
const SHORTEST_STOP: i64 = 1_000;

/// The short name of a call for the title of its turn, and the longer one for its span.
fn names(item: &str, arguments: &Value) -> (String, String) {
    let item = item_name(item);
    let argument = main_argument(arguments).unwrap_or_default();
    let argument = argument.lines().next().unwrap_or_default();
    let last = item.rsplit('/').next().unwrap_or_default();
    let short = match arguments["command"].as_str() {
        Some(_) => argument.split_whitespace().take(2).collect::<Vec<_>>().join(" "),
        None => last.to_owned(),
    };
    let argument: String = argument.chars().take(LONGEST_LABEL).collect();
    let short: String = short.chars().take(LONGEST_LABEL).collect();
    (short, format!("{last} {argument}").trim_end().to_owned())
}

/// The most characters of an argument in a label.
const LONGEST_LABEL: usize = 60;
