//! `rye resume`, `rye approve`, `rye deny` and `rye cancel`.

use clap::Args;
use rye::thread::store::StoreView;
use rye::thread::{Cancel, Decider, Decision, DenialReason, PendingApproval, ThreadId};
use rye::types::{RaisedLimits, SpendLimit};
use rye::{Cancelled, Host, ReopenError, decision_commands};
use serde_json::{Value, json};

use super::run::{Prompt, Variables, random, tell, turns, with_signals};
use crate::approval::{question_of, text_to_sign};
use crate::call_name::CallReference;
use crate::clock::SystemClock;
use crate::confirm;
#[cfg(feature = "engine")]
use crate::engine::EngineOption;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::signing_key_if_any;
use crate::output::Answer;
use crate::stream::Telling;
use crate::thread_argument::ThreadArgument;

/// Go on with a thread that was stopped, killed or suspended, or that a limit or its provider ended
#[derive(Debug, Args)]
#[command(
    after_help = "Everything that the thread rests on is verified again and must be what it was; what was answered and done is \
                        taken from its transcript, so that nothing is asked or done twice. A call that may have happened and \
                        cannot be repeated waits for `rye approve` or `rye deny`.\n\n\
                        A thread that a limit ended goes on when that limit is raised; the new limits count from the beginning \
                        of the thread and are recorded. One that a failure of its provider ended needs no option. A thread \
                        that another one started keeps the limits that it has.\n\n\
                        Exits with 3 when something changed since or the transcript was changed, with 4 when a call waits, and \
                        with 5 when the limit that ended the thread is not raised. `--json` prints lines as `rye run` does, \
                        those of this opening.\n\n\
                        Examples:\n  rye resume index-019a0000-0000-7000-8000-000000000000\n  \
                        rye resume --last --turns 20 --spend 1.00"
)]
pub(crate) struct Resume {
    #[command(flatten)]
    thread: ThreadArgument,
    /// Raise the limit on requests to the model
    #[arg(long, value_name = "N", value_parser = turns, help_heading = "Limits")]
    turns: Option<u64>,
    /// Raise the limit on tokens
    #[arg(long, value_name = "N", help_heading = "Limits")]
    tokens: Option<u64>,
    /// Raise the limit on US dollars, such as `0.25`, or `unlimited`
    #[arg(long, value_name = "USD", help_heading = "Limits")]
    spend: Option<SpendLimit>,
    /// Raise the limit on seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    duration: Option<u64>,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

/// Approve the call that a thread waits with
#[derive(Debug, Args)]
#[command(
    after_help = "The call may run once, with just these arguments; their hash is recorded. `rye resume` goes on; `--resume` does \
                        so at once, with its exit codes.\n\n\
                        With `--call`, nothing is decided if the thread waits with another call by now. The commands that `rye run` and \
                        `rye threads show` print have it. Without it, the command shows the call and asks where there is a terminal. It \
                        decides about the call that it prints.\n\n\
                        With `--always`, the model's later calls of the same tool in this thread do not wait any more, also after \
                        a resume. That is recorded, and no other thread has it. Signatures and questions of hooks are decided \
                        each time.\n\n\
                        Examples:\n  rye approve index-019a0000-0000-7000-8000-000000000000 --call 20\n  \
                        rye approve --last --always --resume"
)]
pub(crate) struct Approve {
    #[command(flatten)]
    decided: Decided,
    /// Approve later calls of the same tool in this thread, too
    #[arg(long)]
    #[cfg_attr(feature = "engine", arg(conflicts_with = "engine"))]
    always: bool,
}

/// The thread of a decision, and the action after it.
#[derive(Debug, Args)]
struct Decided {
    #[command(flatten)]
    thread: ThreadArgument,
    /// Decide about this call and no other one: the number of the record that asks, or the name that `rye run --engine` showed
    #[arg(long, value_name = "CALL")]
    call: Option<CallReference>,
    /// Resume the thread at once
    #[arg(long)]
    #[cfg_attr(feature = "engine", arg(conflicts_with = "engine"))]
    resume: bool,
    #[cfg(feature = "engine")]
    #[command(flatten)]
    engine: EngineOption,
}

/// Deny the call that a thread waits with
#[derive(Debug, Args)]
#[command(
    after_help = "The call does not run, and the model is told, with the reason where one is given. `rye resume` goes on; \
                        `--resume` does so at once, with its exit codes.\n\n\
                        With `--call`, nothing is decided if the thread waits with another call by now.\n\n\
                        Examples:\n  rye deny index-019a0000-0000-7000-8000-000000000000 --call 20\n  \
                        rye deny --last --reason 'write to a branch instead' --resume"
)]
pub(crate) struct Deny {
    #[command(flatten)]
    decided: Decided,
    /// The reason, which the model is told: one line of text
    #[arg(long, value_name = "TEXT")]
    reason: Option<DenialReason>,
}

/// End a thread for good
#[derive(Debug, Args)]
#[command(after_help = "The threads that it started end with it. \
                        The process that runs a thread is asked to end it. If it does not within five seconds, the command \
                        fails and names the process, which may still end the thread. \
                        To stop a thread so that it can be resumed, press Ctrl-C where it runs.\n\n\
                        Example:\n  rye cancel index-019a0000-0000-7000-8000-000000000000")]
pub(crate) struct End {
    #[command(flatten)]
    thread: ThreadArgument,
    #[cfg(feature = "engine")]
    #[command(flatten)]
    engine: EngineOption,
}

pub(crate) fn resume(arguments: &Resume, environment: &Environment) -> Result<Exit, Failure> {
    let thread = arguments.thread.resolve(environment)?;
    let raised = RaisedLimits {
        turns: arguments.turns,
        tokens: arguments.tokens,
        spend: arguments.spend,
        duration_seconds: arguments.duration,
    };
    go_on(&thread, raised, &arguments.telling, environment)
}

fn go_on(
    thread: &ThreadId,
    raised: RaisedLimits,
    telling: &Telling,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let watch = telling.begin(thread, environment);
    let cancel = Cancel::new();
    let clock = SystemClock::new();
    let prompt = Prompt::new(environment, telling.quiet);
    let rye = environment.rye()?;
    let host = Host { observer: &watch, approver: &prompt, ..host(&clock, &cancel, environment)? };
    let report = with_signals(&cancel, rye.resume_raising(thread, raised, host))??;
    Ok(tell(&report, &watch, environment))
}

pub(crate) fn approve(arguments: &Approve, environment: &Environment) -> Result<Exit, Failure> {
    let decision = match arguments.always {
        true => Decision::ApprovedInThread,
        false => Decision::Approved,
    };
    decide(&arguments.decided, &decision, environment)
}

pub(crate) fn deny(arguments: &Deny, environment: &Environment) -> Result<Exit, Failure> {
    decide(&arguments.decided, &Decision::Denied(arguments.reason.clone()), environment)
}

fn decide(
    decided: &Decided,
    decision: &Decision,
    environment: &Environment,
) -> Result<Exit, Failure> {
    #[cfg(feature = "engine")]
    if let Some(engine) = decided.engine.open(environment)? {
        let named = engine.resolve(decided.thread.reference(), environment)?;
        let call = match &decided.call {
            Some(CallReference::Name(name)) => Some(name),
            Some(CallReference::Record(_)) => return Err(Failure::usage(WHOLE_NAME)),
            None => None,
        };
        return engine.decide(&named, decision, call, environment);
    }
    let thread = &decided.thread.resolve(environment)?;
    let cancel = Cancel::new();
    let clock = SystemClock::new();
    let host = host(&clock, &cancel, environment)?;
    let rye = environment.rye()?;
    let asked = rye.pending_approval(thread, &host)?;
    check_call(&asked, decided.call.as_ref(), thread)?;
    if decided.call.is_none() && decision.is_approval() && !environment.json() {
        confirm_approval(&asked)?;
    }
    let request = rye.decide_about(&asked, decision, &Decider::command(), &host)?;
    let first = rye.first_of_tree(thread)?;
    // A process that owns the tree was asked, and goes on by itself.
    let owner = rye.threads().and_then(|threads| StoreView::owner(&threads, &first).ok().flatten());
    if environment.json() && decided.resume {
        // The report of the resumed run is the only JSON value.
    } else if environment.json() {
        let mut row = decision_row(thread, &asked, decision, &first);
        row["goes_on_in"] = owner.map(|owner| owner.to_string()).into();
        Answer::one("decisions", row).print();
    } else {
        let word = decision.as_str().replace('_', " ");
        println!("{word}: {}", question_of(&request));
        if let Some(text) = text_to_sign(&request).filter(|_| decision.is_approval()) {
            print!("{text}");
        }
        if !decided.resume {
            match owner {
                Some(owner) => eprintln!("{owner} drives the thread and goes on by itself"),
                None => eprintln!("go on with `rye resume {first}`"),
            }
        }
    }
    match decided.resume {
        true => go_on(&first, RaisedLimits::default(), &Telling::default(), environment),
        false => Ok(Exit::Fine),
    }
}

#[cfg(feature = "engine")]
const WHOLE_NAME: &str = "an engine is given the whole name of a call, `THREAD:RECORD:SHA256:ITEM`, as `rye run --engine` showed it";

fn decision_row(
    thread: &ThreadId,
    PendingApproval { request, seq, .. }: &PendingApproval,
    decision: &Decision,
    first: &ThreadId,
) -> Value {
    json!({
        "thread": thread.as_str(),
        "decision": decision.as_str(),
        "reason": decision.reason().map(DenialReason::as_str),
        "call": seq,
        "call_id": request.call_id,
        "item_id": request.item_id,
        "arguments": request.arguments,
        "arguments_sha256": request.sha256,
        "asked_because": request.reason.as_str(),
        "why": request.why(),
        "resume": first.as_str(),
    })
}

/// Shows the call and asks whether it is approved, where there is a terminal.
fn confirm_approval(asked: &PendingApproval) -> Result<(), Failure> {
    if !confirm::is_possible() {
        return Ok(());
    }
    let request = &asked.request;
    eprintln!("{}", question_of(request));
    text_to_sign(request).iter().for_each(|text| eprint!("{text}"));
    match confirm::ask(&format!("Approve this call of thread {}?", request.thread))? {
        Some(false) => Err(Failure::refused("nothing is decided")),
        _ => Ok(()),
    }
}

/// Fails if another call was named than the one that waits, and shows that one.
fn check_call(
    asked: &PendingApproval,
    call: Option<&CallReference>,
    thread: &ThreadId,
) -> Result<(), Failure> {
    let Some(call) = call.filter(|call| !call.is(asked, thread)) else { return Ok(()) };
    let request = &asked.request;
    Err(Failure::failed(format!(
        "the call `{call}` does not wait, and nothing is decided; thread `{}` waits for approval: {}; decide with {}",
        request.thread,
        question_of(request),
        decision_commands(asked)
    )))
}

pub(crate) fn cancel(arguments: &End, environment: &Environment) -> Result<Exit, Failure> {
    #[cfg(feature = "engine")]
    if let Some(engine) = arguments.engine.open(environment)? {
        let named = engine.resolve(arguments.thread.reference(), environment)?;
        return engine.cancel(&named, environment);
    }
    let thread = &arguments.thread.resolve(environment)?;
    let cancel = Cancel::new();
    let clock = SystemClock::new();
    let host = host(&clock, &cancel, environment)?;
    let cancelled = environment.rye()?.cancel(thread, &host)?;
    if environment.json() {
        Answer::one("threads", cancelled.to_json(thread)).print();
        return Ok(Exit::Fine);
    }
    let Cancelled { went_on_in, below, .. } = cancelled;
    match went_on_in {
        Some(last) => eprintln!("thread {last} cancelled, in which {thread} went on"),
        None => eprintln!("thread {thread} cancelled"),
    }
    below.iter().for_each(|thread| eprintln!("  and {thread} below it"));
    Ok(Exit::Fine)
}

pub(super) fn host<'a>(
    clock: &'a SystemClock,
    cancel: &'a Cancel,
    environment: &Environment,
) -> Result<Host<'a>, Failure> {
    let signing_key = signing_key_if_any(environment)?.map(std::sync::Arc::new);
    let random = std::sync::Arc::new(random);
    Ok(Host {
        clock,
        secrets: &Variables,
        observer: &(),
        approver: &(),
        cancel,
        random,
        signing_key,
    })
}

impl From<ReopenError> for Failure {
    fn from(error: ReopenError) -> Self {
        Self::of(&error, error.class().into())
    }
}
