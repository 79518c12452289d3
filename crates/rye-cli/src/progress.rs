//! Progress of a run on standard error.

mod below;
mod spinner;

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rye::thread::transcript::Event;

use rye::thread::transcript::payload::{
    Intent, ModelFallback, Receipt, RequestFailed, RequestRetried, Said, StepFinish, StepStart,
    ThreadContinued, ThreadResumed, ThreadStart,
};
use rye::thread::{Clock as _, Delta, Observer, OutputPiece, ThreadId, called_item};
use rye::types::Nanos;
use serde_json::Value;

use self::spinner::Spinner;
use crate::clock::SystemClock;
use crate::output::{self, painted_error, visible, warnings};

/// Reports a run while it runs. It is silent if no person can see it.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `true` if waits are reported, even if standard error is not a terminal.
    is_wanted: bool,
    is_shown: bool,
    colors: bool,
    clock: SystemClock,
    state: Mutex<State>,
}

/// The part of a report that changes while the run does.
#[derive(Debug, Default)]
struct State {
    /// The cost of all answers so far.
    spent: Nanos,
    /// The time that the thread had taken before it was resumed.
    before: Duration,
    /// The animated line while there is no answer.
    spinner: Option<Spinner>,
    /// The last text of the model that was shown.
    last: String,
    /// The part of the current answer on the terminal.
    told: StreamedText,
}

/// The part of a streamed answer that was shown.
#[derive(Debug, Default)]
pub(crate) struct StreamedText {
    pub(crate) text: String,
    /// `true` if the last line has no end.
    pub(crate) is_open: bool,
}

impl Progress {
    /// Creates a report that is shown on a terminal if `is_wanted`.
    pub(crate) fn new(is_wanted: bool, colors: bool) -> Self {
        let is_shown = is_wanted && io::stderr().is_terminal();
        Self { is_wanted, is_shown, colors, clock: SystemClock::new(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if this is the last text of the model on the terminal.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.is_shown && self.state().last == text
    }

    /// Removes the animated line.
    fn stop_spinner(&self) {
        drop(self.state().spinner.take());
    }

    /// Shows more of the answer.
    fn show_more(&self, piece: &str) {
        self.stop_spinner();
        // Foreign text is escaped by now, so that the colors can be written as they are.
        let piece = continue_text(&mut self.state().told, piece);
        match self.colors {
            true => painted_error(&format!("\x1b[2m{piece}\x1b[0m")),
            false => painted_error(&piece),
        }
    }

    /// Ends the open line. Returns `true` if all of this text was shown.
    fn has_shown(&self, event: &Event) -> bool {
        self.end_line();
        match event {
            Event::AssistantText(Said { text }) => {
                std::mem::take(&mut self.state().told.text) == *text
            }
            // The earlier text belongs to an answer that failed or is not used.
            Event::RequestRetried(_) | Event::StepStart(_) => {
                self.state().told.text.clear();
                false
            }
            _ => false,
        }
    }

    /// Returns the tokens and the cost of an answer, with the totals of the run.
    fn step(&self, cost: Nanos, tokens: u64) -> String {
        format!("  {tokens} tokens, {cost}; {}", self.so_far(cost))
    }

    /// Returns the cost and the time of the run so far, including child threads.
    fn so_far(&self, cost: Nanos) -> String {
        let mut state = self.state();
        state.spent = state.spent.saturating_add(cost);
        let elapsed = state.before.saturating_add(self.clock.elapsed());
        format!("{}, {:.1} s so far", state.spent, elapsed.as_secs_f64())
    }

    /// Adds the cost of a failed request, of this thread or a descendant.
    fn count(&self, event: &Event) {
        if let Event::RequestFailed(RequestFailed { cost, .. })
        | Event::RequestRetried(RequestRetried { cost, .. }) = event
        {
            let mut state = self.state();
            state.spent = state.spent.saturating_add(*cost);
        }
    }

    /// Ends the line of the current answer, so that the line of another thread stands alone.
    fn end_line(&self) {
        if std::mem::take(&mut self.state().told.is_open) {
            eprint!("\n");
        }
    }

    fn say(&self, text: &str) {
        let text = visible(text);
        match self.colors {
            true => painted_error(&format!("\x1b[2m{text}\x1b[0m\n")),
            false => eprint!("{text}\n"),
        }
    }
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        self.stop_spinner();
        if let (true, false, Event::RequestRetried(_)) = (self.is_wanted, self.is_shown, event) {
            line(event).iter().for_each(|text| self.say(text));
        }
        if !self.is_shown {
            return;
        }
        self.count(event);
        match event {
            Event::AssistantText(Said { text }) => self.state().last.clone_from(text),
            Event::ThreadResumed(ThreadResumed { cost, elapsed, .. }) => {
                let mut state = self.state();
                (state.spent, state.before) = (*cost, *elapsed);
            }
            _ => {}
        }
        self.show(event);
        if matches!(event, Event::RequestRetried(_) | Event::StepStart(_)) {
            self.state().spinner = Some(Spinner::start());
        }
    }

    fn output(&self, piece: OutputPiece<'_>) {
        if self.is_shown {
            self.show_more(piece.text);
        }
    }

    /// Prints a warning, even if progress is not shown.
    fn notice(&self, text: &str) {
        self.stop_spinner();
        self.end_line();
        warnings(&[text.to_owned()]);
    }

    fn below(&self, thread: &ThreadId, depth: usize, event: &Event) {
        if !self.is_shown {
            if let (true, Event::RequestRetried(_)) = (self.is_wanted, event) {
                below::line(thread, depth, event).iter().for_each(|text| self.say(text));
            }
            return;
        }
        self.stop_spinner();
        self.count(event);
        let text = match event {
            Event::StepFinish(StepFinish { cost, reply, .. }) => {
                Some(below::with_name(thread, depth, &self.step(*cost, reply.usage.total())))
            }
            event => below::line(thread, depth, event),
        };
        if let Some(text) = text {
            self.end_line();
            self.say(&text);
        }
    }

    fn delta(&self, delta: Delta<'_>) {
        if !self.is_shown {
            return;
        }
        self.stop_spinner();
        if let Delta::Text(piece) = delta {
            self.show_more(piece);
        }
    }
}

impl Progress {
    fn show(&self, event: &Event) {
        if self.has_shown(event) {
            return;
        }
        if let Event::StepFinish(StepFinish { cost, reply, .. }) = event {
            self.say(&self.step(*cost, reply.usage.total()));
        } else if let Some(text) = line(event) {
            self.say(&text);
        }
    }
}

/// Returns a piece of text as the continuation of the shown text. Each line is indented, and hidden
/// characters are escaped.
pub(crate) fn continue_text(told: &mut StreamedText, piece: &str) -> String {
    let mut shown = String::new();
    for line in piece.split_inclusive('\n') {
        if !told.is_open {
            shown.push_str("  ");
        }
        shown.push_str(&visible(line.trim_end_matches('\n')));
        told.is_open = !line.ends_with('\n');
        if !told.is_open {
            shown.push('\n');
        }
    }
    told.text.push_str(piece);
    shown
}

/// Returns the text for an event, or `None` for most events.
///
/// Names and reasons are texts of others, such as of a model. They stay in their line, so that they cannot imitate another
/// one. An answer keeps its lines, which are indented.
fn line(event: &Event) -> Option<String> {
    match event {
        Event::AssistantText(Said { text }) => Some(indent(text)),
        Event::ModelFallback(ModelFallback { provider, model, reason, .. }) => {
            let instead = format!("{provider} {model} instead");
            Some(format!("{}\n{}", output::line(reason), output::line(&instead)))
        }
        event => one_line(event).map(|text| output::line(&text)),
    }
}

fn one_line(event: &Event) -> Option<String> {
    match event {
        Event::ThreadStart(ThreadStart { provider, model, .. }) => {
            Some(format!("{provider} {model}"))
        }
        Event::StepStart(StepStart { turn, .. }) => Some(format!("turn {turn}")),
        Event::RequestRetried(again) if Nanos::ZERO < again.cost => {
            Some(format!("  {}; {} counts as spent", again.retry(), again.cost))
        }
        Event::RequestRetried(again) => Some(format!("  {}", again.retry())),
        Event::ToolCallStart(Intent { hook: Some(_), arguments, target, .. }) => {
            target.as_ref().map(|target| format!("    {} {}", target.item_id, short(arguments)))
        }
        Event::ToolCallStart(Intent { name, arguments, target, .. }) => {
            let target = target.as_ref().map(|target| target.item_id.as_str());
            let (name, arguments) = called_item(name, arguments, target);
            Some(format!("  {name} {}", short(arguments)))
        }
        Event::SpawnChild(spawn) => {
            Some(format!("  starts {} as thread {}", spawn.directive, spawn.child))
        }
        Event::ToolCallResult(Receipt { refusal, content, is_error, hook, .. }) => {
            // What a hook does stands deeper than what the model does.
            let lead = if hook.is_some() { "  " } else { "" };
            Some(match refusal {
                Some(refusal) => format!("{lead}  refused: {}", refusal.message),
                None if *is_error => format!("{lead}  ! {}", short(content)),
                None => format!("{lead}    {}", short(content)),
            })
        }
        Event::HookTriggered(triggered) => {
            Some(format!("  hook {} at {}", triggered.hook, triggered.event))
        }
        Event::ThreadContinued(ThreadContinued { next, .. }) => Some(format!("goes on as {next}")),
        _ => None,
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn short(value: &Value) -> String {
    const MOST: usize = 100;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_call_stays_in_its_line() {
        let name = "x\nthread all-0000 completed\n".to_owned();
        let call = Event::ToolCallStart(Intent {
            call_id: "1".to_owned(),
            name,
            arguments: serde_json::json!({}),
            target: None,
            hook: None,
            injects: None,
        });
        assert_eq!(line(&call).as_deref(), Some("  x\\nthread all-0000 completed\\n {}"));
        let said = Event::AssistantText(Said { text: "One\nTwo".to_owned() });
        assert_eq!(line(&said).as_deref(), Some("  One\n  Two"));
    }

    #[test]
    fn pieces_are_shown_as_the_whole_would_be() {
        let mut told = StreamedText::default();
        let pieces = ["On", "e\nTwo", "\n", "\nThr\u{1b}[2Jee"];
        let shown: String = pieces.iter().map(|piece| continue_text(&mut told, piece)).collect();
        let whole = indent(&visible(&pieces.concat()));
        assert_eq!(shown, whole);
        assert_eq!((told.text, told.is_open), (pieces.concat(), true));
    }
}
