//! The transitions of hooks: a row for each state and input, with the next state and the history.

use rye_types::{Limit, LimitHit};

use super::*;
use crate::ProviderErrorClass;

type Input = fn(&mut Run) -> Result<(), OutOfTurn>;

/// `allow_more` is given both limits on threads: no state may take one of them alone.
const INPUTS: [(&str, Input); 6] = [
    ("inject", |run| run.inject("Be careful.")),
    ("allow_more", |run| {
        run.allow_more(Limit::Depth)?;
        run.allow_more(Limit::Spawns)
    }),
    ("hand_over", Run::hand_over),
    ("retry", Run::retry),
    ("extend", Run::extend),
    ("abort", Run::abort),
];

fn failed(kind: FailureKind) -> Run {
    let mut run = run(OutputContract::default());
    run.fail(Failure::new(kind, "no")).unwrap();
    run
}

fn calling() -> Run {
    let mut run = run(OutputContract::default());
    let _request = run.step(Duration::ZERO);
    run.model_replied(calls(vec![tool("a")]), Nanos::ZERO).unwrap();
    run
}

/// The next states of a run in the order of [`INPUTS`], empty if the input is refused.
type Takes = [&'static str; INPUTS.len()];

/// The end stands, a retry may mend it, or a longer limit does.
const STANDS: Takes = ["", "", "", "", "", "done"];
const MENDED: Takes = ["", "", "", "ready", "", "done"];
const LONGER: Takes = ["", "", "", "", "ready", "done"];

/// Rows by the variant's name: the inputs of a run after this failure. A variant without a row fails.
macro_rules! rows {
    (all of $of:ident, $($variant:ident: $takes:expr;)*) => {
        fn takes(kind: &$of) -> (&'static str, Takes) {
            match kind {
                $($of::$variant { .. } => (stringify!($variant), $takes),)*
            }
        }
    };
    ($of:ident, $($variant:ident: $takes:expr;)*) => {
        fn takes(kind: &$of) -> (&'static str, Takes) {
            match kind {
                $($of::$variant { .. } => (stringify!($variant), $takes),)*
                kind => panic!("{kind:?} has no row"),
            }
        }
    };
}

mod kinds {
    use super::*;

    rows! { FailureKind,
        CutOff: MENDED;
        Hook: STANDS;
        Limit: LONGER;
        MissingOutputs: MENDED;
        OutOfTurn: STANDS;
        Preparation: STANDS;
        Provider: MENDED;
        Refused: MENDED;
        Storage: STANDS;
        Unpriced: STANDS;
    }

    pub(super) fn rows() -> impl Iterator<Item = (&'static str, FailureKind, Takes)> {
        let hit = LimitHit::new(Limit::Turns, 10, 10);
        let facts = [FailureKind::Limit(hit), FailureKind::Provider(ProviderErrorClass::Server)];
        FailureKind::PLAIN.into_iter().chain(facts).map(|kind| {
            let (name, takes) = takes(&kind);
            (name, kind, takes)
        })
    }
}

mod limits {
    use super::*;

    rows! { all of Limit,
        Depth: LONGER;
        Duration: LONGER;
        Spawns: LONGER;
        Spend: STANDS;
        Tokens: LONGER;
        Turns: LONGER;
    }

    pub(super) fn rows() -> impl Iterator<Item = (&'static str, FailureKind, Takes)> {
        Limit::ALL.iter().copied().map(|limit| {
            let (name, takes) = takes(&limit);
            (name, FailureKind::Limit(LimitHit::new(limit, 10, 10)), takes)
        })
    }
}

mod classes {
    use super::*;

    rows! { ProviderErrorClass,
        Auth: MENDED;
        ContentRefused: MENDED;
        ContextTooLong: ["", "", "done", "ready", "", "done"];
        CutCall: MENDED;
        Empty: MENDED;
        InvalidRequest: MENDED;
        Malformed: MENDED;
        Network: MENDED;
        Overloaded: MENDED;
        RateLimited: MENDED;
        Server: MENDED;
        SpendLimit: STANDS;
        StepFailed: MENDED;
        Timeout: MENDED;
    }

    pub(super) fn rows() -> impl Iterator<Item = (&'static str, FailureKind, Takes)> {
        ProviderErrorClass::ALL.iter().copied().map(|class| {
            let (name, takes) = takes(&class);
            (name, FailureKind::Provider(class), takes)
        })
    }
}

/// Each state with its inputs.
fn rows() -> Vec<(&'static str, Run, Takes)> {
    let mut in_calls = calling();
    in_calls.fail(Failure::new(FailureKind::CutOff, "no")).unwrap();
    let mut asked = run(OutputContract::default());
    let _request = asked.step(Duration::ZERO);
    let mut cancelled = run(OutputContract::default());
    cancelled.cancel().unwrap();
    let nothing: Takes = ["", "", "", "", "", ""];
    let mut rows = vec![
        ("ready", run(OutputContract::default()), ["ready", "ready", "done", "", "", ""]),
        ("asked", asked, nothing),
        ("calling", calling(), nothing),
        ("cancelled", cancelled, nothing),
        ("in calls", in_calls, ["", "", "", "calling", "", "done"]),
    ];
    let kinds = kinds::rows().chain(limits::rows()).chain(classes::rows());
    rows.extend(kinds.map(|(name, kind, takes)| (name, failed(kind), takes)));
    rows
}

#[test]
fn each_leads_where_its_row_says_and_no_other_does_anything() {
    for (name, state, expected) in rows() {
        for ((input, give), expected) in INPUTS.into_iter().zip(expected) {
            let mut run = state.clone();
            let taken = give(&mut run);
            assert_eq!(taken.is_ok(), !expected.is_empty(), "{name}: {input}");
            match expected {
                "" => assert_eq!(shown(&run), shown(&state), "{name}: {input}"),
                expected => assert_eq!(run.phase.name(), expected, "{name}: {input}"),
            }
        }
    }
}

#[test]
fn a_retry_counts_as_a_turn_and_an_extended_limit_is_longer() {
    let mut run = failed(FailureKind::Provider(ProviderErrorClass::Server));
    run.retry().unwrap();
    assert_eq!((run.retries(), run.turns()), (1, 0));
    let most = run.limits().turns;
    for _ in 1..most {
        run.fail(Failure::new(FailureKind::Provider(ProviderErrorClass::Server), "no")).unwrap();
        run.retry().unwrap();
    }
    let Step::Done(End::Failed(failure)) = run.step(Duration::ZERO) else { panic!("a limit") };
    assert!(matches!(failure.kind, FailureKind::Limit(_)), "{failure}");
    run.extend().unwrap();
    assert_eq!(run.limits().turns, 2 * most);
    assert!(matches!(run.step(Duration::ZERO), Step::CallModel(_)));
}

/// Only the limits on child threads are raised during a run.
#[test]
fn more_is_allowed_of_threads_alone() {
    for &limit in Limit::ALL {
        let mut run = run(OutputContract::default());
        let before = run.limits().clone();
        let messages = run.messages().len();
        let raised = run.allow_more(limit).is_ok();
        assert_eq!(raised, [Limit::Depth, Limit::Spawns].contains(&limit), "{limit}");
        assert_eq!(*run.limits() != before, raised, "{limit}");
        assert_eq!(run.messages().len(), messages + usize::from(raised), "{limit}");
    }
    let mut run = run(OutputContract::default());
    run.allow_more(Limit::Spawns).unwrap();
    assert_eq!(run.limits().spawns, 20);
    let Some(Message::User { text }) = run.messages().last() else { panic!("a text") };
    assert_eq!(text, "The limit `spawns` was raised to 20. Go on.");
}
