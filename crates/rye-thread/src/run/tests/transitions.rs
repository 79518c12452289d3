//! The transition table of [`Run`], one row each, and all inputs outside of it.

use super::*;
use crate::Decision;

/// The inputs of a run. An input without an arm in [`told`] does not compile.
macro_rules! inputs {
    ($($input:ident),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq)]
        enum Input {
            $($input),*
        }

        const ALL: &[Input] = &[$(Input::$input),*];
    };
}

inputs! {
    Step,
    StepAtTheLimit,
    Text,
    Pause,
    Refused,
    Cut,
    LostCalls,
    Unusable,
    Calls,
    Results,
    Return,
    AskApproval,
    AskApprovalOfNone,
    Decide,
    Fail,
    Cancel,
}

use Input::*;

/// Returns the name of the input in the table of [`Run`]'s documentation.
const fn told(input: Input, is_contracted: bool, is_reminded: bool) -> &'static str {
    match (input, is_contracted, is_reminded) {
        (Step, ..) => "`step`",
        (StepAtTheLimit, ..) => "`step`, a limit is reached",
        (Text, false, _) => "text, no output required",
        (Text, true, false) => "text, outputs required, first time",
        (Text, true, true) => "text, outputs required, reminded before",
        (Pause, ..) => "reply that pauses",
        (Refused, ..) => "reply that was refused for its content",
        (Cut | LostCalls, ..) => "reply that is cut, or lacks the calls it stopped for",
        (Unusable, ..) => "reply that cannot be used, once or twice",
        (Calls, ..) => "reply with calls",
        (Results, ..) => "results",
        (Return, ..) => "results, a `directive_return` is accepted",
        (AskApproval, ..) => "`ask_approval` of one of the calls",
        (AskApprovalOfNone, ..) => "",
        (Decide, ..) => "`approval_decided`",
        (Fail, ..) => "`fail`",
        (Cancel, ..) => "`cancel`",
    }
}

/// A path to each state, by the variant's name. A state without one does not compile.
macro_rules! states {
    ($($phase:ident: $name:literal, $path:expr;)*) => {
        const STATES: &[(&str, &[Input])] = &[$(($name, $path)),*];

        const fn state(phase: &Phase) -> &'static str {
            match phase {
                $(Phase::$phase { .. } => $name,)*
            }
        }
    };
}

states! {
    Ready: "ready", &[];
    Asked: "asked", &[Step];
    Calling: "calling", &[Step, Calls];
    Waiting: "waiting", &[Step, Calls, AskApproval];
    Done: "done", &[Cancel];
}

/// Returns `true` if the run took the input.
fn give(run: &mut Run, input: Input) -> bool {
    let answer = |run: &mut Run, reply| run.model_replied(reply, Nanos::ZERO).is_ok();
    match input {
        Step => drop(run.step(START)),
        StepAtTheLimit => drop(run.step(Duration::from_secs(600))),
        Text => return answer(run, text("Hi.")),
        Pause => return answer(run, reply("So far", Vec::new(), StopReason::Pause)),
        Refused => return answer(run, reply("", Vec::new(), StopReason::Refusal)),
        Cut => return answer(run, reply("", Vec::new(), StopReason::MaxTokens)),
        LostCalls => return answer(run, reply("", Vec::new(), StopReason::ToolUse)),
        Unusable => return run.ask_again(ProviderErrorClass::Malformed, &Usage::default()).is_ok(),
        Calls => return answer(run, calls(vec![tool("1")])),
        Results => return run.tools_returned(vec![ok("1")]).is_ok(),
        Return => {
            let reply = calls(vec![direct_return("1", json!({"score": 1}))]);
            return answer(run, reply) && run.tools_returned(Vec::new()).is_ok();
        }
        AskApproval => return run.ask_approval(0).is_ok(),
        AskApprovalOfNone => return run.ask_approval(1).is_ok(),
        Decide => return run.approval_decided(Decision::Approved).is_ok(),
        Fail => return run.fail(Failure::new(FailureKind::Storage, "x")).is_ok(),
        Cancel => return run.cancel().is_ok(),
    }
    true
}

/// Returns the state of a run and its next step.
fn place(run: &Run) -> String {
    let state = run.phase.name();
    if state == "done" {
        phase(&run.clone().step(START)).split(':').next().unwrap().to_owned()
    } else {
        state.to_owned()
    }
}

/// The inputs from the beginning, one more input, and the next state.
const ROWS: &[(bool, &[Input], Input, &str)] = &[
    (false, &[], Step, "asked"),
    (false, &[], StepAtTheLimit, "failed"),
    (false, &[Step], Step, "asked"),
    (false, &[Step], StepAtTheLimit, "failed"),
    (false, &[Step], Refused, "failed"),
    (false, &[Step], Cut, "failed"),
    (false, &[Step], LostCalls, "failed"),
    (false, &[Step], Unusable, "asked"),
    (false, &[Step, Unusable], Unusable, "asked"),
    (false, &[Step, Unusable], Calls, "calling"),
    (false, &[Step], Calls, "calling"),
    (false, &[Step], Pause, "ready"),
    (false, &[Step], Text, "completed"),
    (true, &[Step], Text, "ready"),
    (true, &[Step, Text, Step], Text, "failed"),
    (false, &[Step, Calls], Step, "calling"),
    (false, &[Step, Calls], StepAtTheLimit, "calling"),
    (false, &[Step, Calls], Results, "ready"),
    (true, &[Step], Return, "completed"),
    (false, &[Step, Calls], AskApproval, "waiting"),
    (false, &[Step, Calls, AskApproval], Step, "waiting"),
    (false, &[Step, Calls, AskApproval], StepAtTheLimit, "waiting"),
    (false, &[Step, Calls, AskApproval], Decide, "calling"),
    (false, &[Step, Calls, AskApproval, Decide], Results, "ready"),
    (false, &[], Fail, "failed"),
    (false, &[Step], Fail, "failed"),
    (false, &[Step, Calls], Fail, "failed"),
    (false, &[Step, Calls, AskApproval], Fail, "failed"),
    (false, &[], Cancel, "cancelled"),
    (false, &[Step], Cancel, "cancelled"),
    (false, &[Step, Calls], Cancel, "cancelled"),
    (false, &[Step, Calls, AskApproval], Cancel, "cancelled"),
    (false, &[Cancel], Step, "cancelled"),
    (false, &[Cancel], StepAtTheLimit, "cancelled"),
];

fn after(is_contracted: bool, inputs: &[Input]) -> Run {
    let mut run = run(if is_contracted { required() } else { OutputContract::default() });
    for input in inputs {
        assert!(give(&mut run, *input), "{inputs:?}");
    }
    run
}

#[test]
fn every_transition_leads_where_the_table_says() {
    for (is_contracted, path, input, expected) in ROWS {
        let mut run = after(*is_contracted, path);
        assert!(give(&mut run, *input), "{path:?} {input:?}");
        assert_eq!(place(&run), *expected, "{path:?} {input:?}");
    }
}

/// A run that a limit or a provider ended continues where it was. The history grows only after a reply that cannot
/// stand.
#[test]
fn the_operator_reopens_a_run_that_was_stopped() {
    let user = |run: &Run| match run.messages().last() {
        Some(Message::User { text }) => text.clone(),
        other => format!("{other:?}"),
    };
    let mut limited = after(false, &[StepAtTheLimit]);
    limited.reopen().unwrap();
    assert_eq!((limited.phase.name(), limited.messages().len()), ("ready", 1));
    let mut refused = after(false, &[Step, Refused]);
    refused.reopen().unwrap();
    assert_eq!((refused.phase.name(), refused.messages().len()), ("ready", 3));
    let told = "This did not work: the model refused to answer for the content. Try again.";
    assert_eq!(user(&refused), told);
    let mut cut = after(false, &[Step, Cut]);
    cut.reopen().unwrap();
    assert_eq!((cut.phase.name(), cut.messages().len()), ("ready", 3));
    assert!(user(&cut).ends_with(" where they left less. Try again."), "{}", user(&cut));
    for path in [&[][..], &[Step], &[Step, Calls], &[Step, Text], &[Cancel], &[Fail]] {
        let mut run = after(false, path);
        let before = shown(&run);
        assert!(run.reopen().is_err(), "{path:?}");
        assert_eq!(shown(&run), before, "{path:?}");
    }
}

/// An input outside of the table is refused and changes nothing.
#[test]
fn no_other_input_changes_anything() {
    for (state, path) in STATES.iter().copied() {
        assert_eq!(super::transitions::state(&after(false, path).phase), state);
        for input in ALL.iter().copied() {
            let mut run = after(false, path);
            assert_eq!(run.phase.name(), state);
            let is_in_the_table = ROWS.iter().any(|(is_contracted, listed, by, _)| {
                !is_contracted && after(false, listed).phase.name() == state && same(*by, input)
            });
            let before = shown(&run);
            if is_in_the_table || same(input, Return) && state == "asked" {
                assert!(give(&mut run, input), "{state} {input:?}");
            } else {
                assert!(!give(&mut run, input), "{state} {input:?}");
                assert_eq!(shown(&run), before, "{state} {input:?}");
            }
        }
    }
}

/// Every row of the documented table has its rows here, and the reverse.
#[test]
fn the_table_is_the_documented_one() {
    let source = include_str!("../../run.rs");
    let rows = source.lines().filter_map(|line| line.strip_prefix("/// |")?.strip_suffix('|'));
    let rows = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let documented: Vec<_> = rows.filter(|row| row[0].starts_with(['`', 'a'])).collect();
    let mut undocumented: Vec<_> = ROWS.iter().collect();
    for row in documented {
        let [states, input, next] = row[..] else { panic!("{row:?}") };
        let is_meant = |state: &str| match states {
            "any but `done`" => state != "done",
            _ => states.contains(&format!("`{state}`")),
        };
        let of_row = |(is_contracted, path, by, to): &&(bool, &[Input], Input, &str)| {
            let is_reminded = path.contains(&Text);
            let from = state_of(&after(*is_contracted, path), *by);
            let is_input = told(*by, *is_contracted, is_reminded) == input
                || same(*by, StepAtTheLimit)
                    && input == "`step`"
                    && !["ready", "asked"].contains(&from);
            is_input && is_meant(from) && leads_to(next, to)
        };
        let n_before = undocumented.len();
        let has_any = ROWS.iter().any(|row| of_row(&row));
        undocumented.retain(|row| !of_row(row));
        assert!(has_any, "no test for {row:?}; {n_before} rows were left");
    }
    assert!(undocumented.is_empty(), "the documentation lacks {undocumented:?}");
}

/// Returns the state in which the last input finds the run. Returning outputs is a reply and its results.
fn state_of(run: &Run, input: Input) -> &'static str {
    if same(input, Return) { "calling" } else { run.phase.name() }
}

/// Returns `true` if the documented next state is this one.
fn leads_to(documented: &str, place: &str) -> bool {
    match documented.strip_prefix("`done`: ") {
        Some(end) => end == place,
        None if documented.starts_with("`done`") => place == "cancelled",
        None => documented.starts_with(&format!("`{place}`")),
    }
}

fn same(a: Input, b: Input) -> bool {
    std::mem::discriminant(&a) == std::mem::discriminant(&b)
}

#[test]
fn a_decision_is_known_until_its_call_begins() {
    let mut run = after(false, &[Step, Calls, AskApproval]);
    assert_eq!(run.decision(0), None);
    assert_eq!(phase(&run.step(START)), "ask approval of 1 at 0");
    let denied = Decision::Denied(Some("it is Friday".parse().unwrap()));
    run.approval_decided(denied.clone()).unwrap();
    assert_eq!((run.decision(0), run.decision(1)), (Some(&denied), None));
    run.remove_decision(0);
    assert_eq!(run.decision(0), None);
}
