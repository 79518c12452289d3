//! What a transcript says of its thread: its beginning, its limits, its end, and the record that follows from it.

use rye_types::{Prices, SpendLimit, ThreadState, Usage};

use super::samples::sample;
use super::*;
use crate::payload::ThreadComplete;
use crate::{Handover, ToolSpec};

fn begun() -> Event {
    start(&KEY)
}

/// Returns the beginning of a thread with other members.
fn begun_with(change: impl FnOnce(&mut ThreadStart)) -> Event {
    let Event::ThreadStart(mut start) = begun() else { unreachable!() };
    change(&mut start);
    Event::ThreadStart(start)
}

fn turns(turns: u64) -> LimitSet {
    LimitSet { turns, ..LimitSet::default() }
}

/// Returns an end in one line.
fn shown(end: &RecordedEnd) -> String {
    let RecordedEnd { turns, usage, cost, outputs, failure, next, .. } = end;
    let [outputs, failure, next] = [
        outputs.as_ref().map(|it| json!(it).to_string()),
        failure.as_ref().map(ToString::to_string),
        next.as_ref().map(ToString::to_string),
    ]
    .map(Option::unwrap_or_default);
    let (state, at, tokens, cost) = (end.state(), end.at(), usage.total(), cost.get());
    format!(
        "{state} at {at}, {turns} turns, {tokens} tokens, {cost} [{outputs}] [{failure}] [{next}]"
    )
}

#[test]
fn a_thread_has_the_end_that_it_recorded_last() {
    let completed =
        r#"completed at 2026-11-20T18:00:00.250Z, 2 turns, 7 tokens, 42 [{"score":7}] [] []"#;
    let failed = "error at 2026-11-20T18:00:00.250Z, 2 turns, 7 tokens, 42 [] [too many] []";
    let continued = "continued at 2026-11-20T18:00:00.250Z, 2 turns, 7 tokens, 42 [] [] [hello-019a0000-0000-7000-8000-000000000001]";
    let [complete, error, next] = ["ThreadComplete", "ThreadError", "ThreadContinued"].map(sample);
    let again = || resumed(&KEY, None);
    for (events, expected) in [
        (vec![], None),
        (vec![sample("StepStart")], None),
        (vec![complete.clone()], Some(completed)),
        (vec![next], Some(continued)),
        (vec![error.clone()], Some(failed)),
        (vec![error.clone(), user("later")], Some(failed)),
        // A thread that goes on after an end has not come to another one yet.
        (vec![error.clone(), again()], None),
        (vec![error.clone(), again(), user("later")], None),
        (vec![error, again(), complete], Some(completed)),
    ] {
        let events: Vec<Event> = [begun()].into_iter().chain(events).collect();
        let end = recorded_end(&told(&events)).map(|end| shown(&end));
        assert_eq!(end.as_deref(), expected, "{events:?}");
    }
    assert!(recorded_end(&told(&[])).is_none());
}

/// Raising is the operator's act, which a checkpoint of its own shows (SPEC D18).
#[test]
fn limits_are_those_of_the_beginning_or_as_they_were_raised() {
    let raised = |limit: u64| resumed(&KEY, Some(turns(limit)));
    for (events, last) in [
        (vec![], 10),
        (vec![user("x")], 10),
        (vec![resumed(&KEY, None)], 10),
        (vec![raised(20)], 20),
        (vec![raised(20), user("x")], 20),
        (vec![raised(20), raised(30)], 30),
        (vec![raised(20), resumed(&KEY, None)], 20),
    ] {
        let events: Vec<Event> = [begun()].into_iter().chain(events).collect();
        let limits = recorded_limits(&told(&events)).unwrap();
        assert_eq!((limits.first, limits.last), (turns(10), turns(last)), "{events:?}");
    }
    let mut smuggled = Transcript::new(&thread());
    smuggled.tell(&[begun(), raised(20)]);
    smuggled.append(&raised(90));
    smuggled.append(&user("x"));
    smuggled.checkpoint(&KEY);
    assert_eq!(recorded_limits(&smuggled.reading()).unwrap().last, turns(20));
    assert_eq!(recorded_limits(&told(&[])), None);
}

#[test]
fn a_beginning_names_the_model_the_tools_and_the_root() {
    let tools = vec![ToolSpec::new("a_b", "A.", json!({})).with_output_schema(json!({"a": 1}))];
    let prices = Prices::new(Nanos::new(3), Nanos::new(4));
    let root = ThreadId::new("up", "019a0000-0000-7000-8000-000000000002").unwrap();
    let reading = told(&[
        begun_with(|start| {
            start.prices = Some(prices);
            start.tools.clone_from(&tools);
            start.root.clone_from(&root);
        }),
        sample("ModelFallback"),
    ]);
    let mut info = ProviderInfo::new("p", "m", 0, 0);
    info.prices = Some(prices);
    assert_eq!(recorded_provider(&reading), Some(info));
    assert_eq!(recorded_tools(&reading), tools);
    assert_eq!(recorded_tools(&reading)[0].output_schema, Some(json!({"a": 1})));
    assert_eq!(recorded_root(&reading), Some(root));
    let unknown = told(&[begun_with(|start| start.provider.clear())]);
    assert_eq!(recorded_provider(&unknown), None, "it ended before its provider was known");
    let none = told(&[]);
    assert_eq!((recorded_provider(&none), recorded_root(&none)), (None, None));
    assert_eq!(recorded_tools(&none), []);
}

#[test]
fn a_continued_thread_hands_over_the_rest_of_its_limits() {
    let continued = sample("ThreadContinued");
    let expected = Handover { thread: thread(), limits: LimitSet::default() };
    assert_eq!(handed_over(&told(&[begun(), continued])), Some(expected));
    assert_eq!(handed_over(&told(&[begun(), sample("ThreadComplete")])), None);
}

#[test]
fn the_items_that_calls_added_are_read_back_in_order() {
    let added = |reading: &Reading| {
        let items = added_items(reading)?;
        Some(items.into_iter().map(|item| item.facts["id"].clone()).collect::<Vec<_>>())
    };
    let receipt = |id: &str| {
        let Event::ToolCallResult(mut receipt) = sample("ToolCallResult") else { unreachable!() };
        receipt.added[0].facts.insert("id".to_owned(), json!(id));
        Event::ToolCallResult(receipt)
    };
    let events = [begun(), receipt("a"), sample("HookCallResult"), receipt("b")];
    assert_eq!(added(&told(&events)), Some(vec![json!("a"), json!("b")]));
    assert_eq!(added(&told(&[begun()])), Some(vec![]));
    // A newer program may write what this one cannot read, and to pass over it would widen the authority.
    let mut unread = told(&events);
    unread.records[2].payload = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
    assert_eq!(unread.records[2].kind, EventKind::ToolCallResult);
    assert_eq!(added(&unread), None);
}

/// Returns the record as one line: state, turns, tokens, cost, model, and the limit of turns.
fn record_of(events: &[Event]) -> String {
    let events: Vec<Event> = [begun()].into_iter().chain(events.iter().cloned()).collect();
    let record = ThreadRecord::from_transcript(&told(&events)).unwrap();
    let ThreadRecord { state, turns, usage, cost, model, limits, .. } = record;
    let (tokens, cost, model) = (usage.total(), cost.get(), model.unwrap_or_default());
    format!("{state}, {turns} turns, {tokens} tokens, {cost}, {model}, at most {}", limits.turns)
}

/// A request costs 42 and 7 tokens, and a child that has ended costs 42.
#[test]
fn the_record_of_a_thread_follows_from_its_transcript() {
    let [sent, reply, asked, decided] =
        ["StepStart", "StepFinish", "ApprovalRequested", "ApprovalDecided"].map(sample);
    let [spawned, ended, fallback, error] =
        ["SpawnChild", "ChildEnded", "ModelFallback", "ThreadError"].map(sample);
    let raised = resumed(&KEY, Some(turns(20)));
    let nothing = "running, 0 turns, 0 tokens, 0, m, at most 10";
    let failed = "error, 2 turns, 7 tokens, 42, m, at most 10";
    for (events, expected) in [
        (vec![], nothing),
        // A request counts once it is answered, and a child once it has ended.
        (vec![sent.clone(), spawned.clone()], nothing),
        (vec![sent.clone(), reply.clone()], "running, 1 turns, 7 tokens, 42, m, at most 10"),
        (
            vec![sent.clone(), reply.clone(), sent, reply, spawned, ended],
            "running, 2 turns, 14 tokens, 126, m, at most 10",
        ),
        (vec![fallback], "running, 0 turns, 0 tokens, 0, n, at most 10"),
        (vec![asked.clone()], "suspended, 0 turns, 0 tokens, 0, m, at most 10"),
        (vec![asked.clone(), decided], nothing),
        (vec![asked, error.clone()], failed),
        (vec![error.clone()], failed),
        (vec![error, raised], "running, 0 turns, 0 tokens, 0, m, at most 20"),
    ] {
        assert_eq!(record_of(&events), expected, "{events:?}");
    }
}

/// Every member of the record, also those that the table leaves out.
#[test]
fn the_record_of_a_thread_holds_all_that_its_transcript_says() {
    let other = |number: u64| {
        ThreadId::new("up", &format!("019a0000-0000-7000-8000-00000000000{number}")).unwrap()
    };
    let later = Moment::from_unix_millis(1_795_197_601_000);
    let facts = json!({"verified": false}).as_object().unwrap().clone();
    let begin = begun_with(|start| {
        (start.root, start.parent, start.continues) = (other(2), Some(other(3)), Some(other(4)));
        start.facts.clone_from(&facts);
        start.limits.spend = SpendLimit::Unlimited;
        start.created = Moment::from_unix_millis(1_795_197_600_000);
    });
    let mut transcript = Transcript::new(&thread());
    transcript.tell(&[begin]);
    transcript.at = later;
    transcript.append(&user("x"));
    let limits = LimitSet { spend: SpendLimit::Unlimited, ..LimitSet::default() };
    let created = Moment::from_unix_millis(1_795_197_600_000);
    let mut expected = ThreadRecord::new(&thread(), "greet/hello", &limits, created);
    (expected.root, expected.parent, expected.continues) =
        (other(2), Some(other(3)), Some(other(4)));
    (expected.provider, expected.model) = (Some("p".to_owned()), Some("m".to_owned()));
    (expected.state, expected.updated, expected.facts) = (ThreadState::Running, later, facts);
    let record = ThreadRecord::from_transcript(&transcript.reading()).unwrap();
    assert_eq!(record, expected);
    assert!(record.used_unsigned());

    transcript.tell(&[Event::ThreadComplete(ThreadComplete {
        turns: 3,
        usage: Usage::new(5, 6),
        cost: Nanos::new(7),
        outputs: json!({"score": 7}).as_object().cloned(),
        text: "Done.".to_owned(),
    })]);
    expected.state = ThreadState::Completed;
    (expected.turns, expected.usage, expected.cost) = (3, Usage::new(5, 6), Nanos::new(7));
    expected.outputs = json!({"score": 7}).as_object().cloned();
    assert_eq!(ThreadRecord::from_transcript(&transcript.reading()), Some(expected));
}

#[test]
fn the_record_names_what_is_known() {
    assert_eq!(ThreadRecord::from_transcript(&told(&[])), None);
    let record = |events: &[Event]| ThreadRecord::from_transcript(&told(events)).unwrap();
    let unknown =
        begun_with(|start| (start.provider, start.model) = (String::new(), String::new()));
    let record_of_unknown = record(&[unknown]);
    assert_eq!((record_of_unknown.provider, record_of_unknown.model), (None, None));
    let continued = record(&[begun(), sample("ThreadContinued")]);
    assert_eq!(continued.continued_by, Some(thread()));
    let failed = record(&[begun(), sample("ThreadError")]);
    assert_eq!(failed.failure.map(|it| it.to_string()).as_deref(), Some("too many"));
    for (facts, used_unsigned) in
        [(json!({}), false), (json!({"verified": true}), false), (json!({"verified": false}), true)]
    {
        let begun = begun_with(|start| start.facts = facts.as_object().unwrap().clone());
        assert_eq!(record(&[begun]).used_unsigned(), used_unsigned, "{facts}");
    }
}
