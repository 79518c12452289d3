//! Each word with its name and what it says of itself: what is here is written to files, so that it does not change.

use std::time::Duration;

use rye_types::{
    Effect, HookEffect, HookEvent, HookLayer, ItemKind, Limit, LimitHit, LimitSet, Moment, Nanos,
    Position, RaisedLimits, ReturnStyle, Risk, RiskPolicy, SandboxMode, SpendLimit, ThreadState,
    UnknownWord, Usage, ValueType,
};

/// The names of a word, from all of its values.
fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().copied().map(name).collect()
}

#[test]
fn each_value_has_its_name() {
    let rows: [(&str, Vec<&str>, &[&str]); 13] = [
        (
            "hook events",
            names(HookEvent::ALL, HookEvent::as_str),
            &[
                "resolve_extends",
                "thread_started",
                "thread_continued",
                "after_step",
                "limit",
                "error",
                "directive_return",
                "after_complete",
                "context_limit_reached",
            ],
        ),
        (
            "hook effects",
            names(HookEffect::ALL, HookEffect::as_str),
            &["retry", "fail", "abort", "continue", "escalate"],
        ),
        (
            "value types",
            names(ValueType::ALL, ValueType::as_str),
            &["string", "integer", "number", "boolean", "array", "object"],
        ),
        ("return styles", names(ReturnStyle::ALL, ReturnStyle::as_str), &["call", "block", "tool"]),
        ("positions", names(Position::ALL, Position::as_str), &["system", "before", "after"]),
        (
            "kinds",
            names(ItemKind::ALL, ItemKind::as_str),
            &["directive", "knowledge", "tool", "config"],
        ),
        (
            "folders",
            names(ItemKind::ALL, ItemKind::folder),
            &["directives", "knowledge", "tools", "config"],
        ),
        (
            "effects",
            names(&[Effect::Idempotent, Effect::Once, Effect::ReadOnly], Effect::as_str),
            &["idempotent", "once", "read_only"],
        ),
        ("risks", names(Risk::ALL, Risk::as_str), &["safe", "write", "elevated", "unrestricted"]),
        (
            "risk policies",
            names(RiskPolicy::ALL, RiskPolicy::as_str),
            &["allow", "acknowledge_required", "block"],
        ),
        (
            "sandbox modes",
            names(SandboxMode::ALL, SandboxMode::as_str),
            &["bubblewrap", "namespaces", "landlock", "none"],
        ),
        (
            "limits",
            names(Limit::ALL, Limit::as_str),
            &["depth", "duration_seconds", "spawns", "spend", "tokens", "turns"],
        ),
        (
            "thread states",
            names(ThreadState::ALL, ThreadState::as_str),
            &["cancelled", "completed", "continued", "created", "error", "running", "suspended"],
        ),
    ];
    for (word, names, expected) in rows {
        assert_eq!(names, expected, "{word}");
    }
    assert_eq!(HookEvent::NAMES, names(HookEvent::ALL, HookEvent::as_str));
}

#[test]
fn a_word_is_read_and_written_by_its_name() {
    for &event in HookEvent::ALL {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(text, format!("\"{event}\""));
        assert_eq!(serde_json::from_str::<HookEvent>(&text).unwrap(), event);
        assert_eq!(event.as_str().parse(), Ok(event));
    }
    let error = "tool\n".parse::<ReturnStyle>().unwrap_err();
    assert_eq!(error, UnknownWord::new("return style", "tool\n", ReturnStyle::NAMES));
    assert_eq!(error.to_string(), "unknown return style `tool\n`; valid: `call`, `block`, `tool`");
}

#[test]
fn a_long_or_commanding_name_of_a_risk_is_told_safely() {
    let error = format!("\u{1b}[2J{}", "x".repeat(200)).parse::<Risk>().unwrap_err();
    let shown = format!("\\u{{1b}}[2J{}…", "x".repeat(116));
    let valid = "`safe`, `write`, `elevated`, `unrestricted`";
    assert_eq!(error.to_string(), format!("unknown risk `{shown}`; valid are {valid}"));
    let error = "no".parse::<RiskPolicy>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown policy `no`; valid are `allow`, `acknowledge_required`, `block`"
    );
}

#[test]
fn the_risk_decides_on_the_policy() {
    let policies: Vec<RiskPolicy> = Risk::ALL.iter().map(|risk| risk.default_policy()).collect();
    use RiskPolicy::{AcknowledgeRequired, Allow, Block};
    assert_eq!(policies, [Allow, Allow, AcknowledgeRequired, Block]);
}

#[test]
fn a_kind_has_its_file_types() {
    let types: Vec<String> = ItemKind::ALL.iter().map(|kind| kind.extensions().join(" ")).collect();
    assert_eq!(types, ["md", "md yaml yml", "yaml yml py sh js ts rb", "yaml yml toml json"]);
}

/// Each event with `true` if it is one of a thread, with `true` if outputs of tools are added there, and with its effects.
#[test]
fn an_event_decides_on_its_effects() {
    let rows = HookEvent::ALL.iter().map(|event| {
        let effects = names(event.effects(), HookEffect::as_str).join(" ");
        format!("{event} {} {} {effects}", event.is_of_thread(), event.is_context())
    });
    let expected = [
        "resolve_extends false false ",
        "thread_started true true ",
        "thread_continued true true ",
        "after_step true false fail abort continue escalate",
        "limit true false fail abort escalate",
        "error true false retry fail abort continue escalate",
        "directive_return true false retry fail abort continue escalate",
        "after_complete true false ",
        "context_limit_reached true false fail abort continue",
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!(HookEvent::of_threads().collect::<Vec<_>>(), HookEvent::ALL[1..]);
    let permissive = HookEffect::ALL.iter().copied().filter(|effect| effect.is_permissive());
    assert_eq!(permissive.collect::<Vec<_>>(), [HookEffect::Retry, HookEffect::Continue]);
}

/// The paths that an event has beside those that each event of a thread has.
#[test]
fn an_event_has_its_data() {
    let common = HookEvent::ThreadStarted.data_paths();
    let rows = HookEvent::of_threads().map(|event| {
        let paths = event.data_paths();
        assert!(common.iter().all(|path| paths.contains(path)), "{event}");
        assert!(paths.is_sorted(), "{event}");
        let own: Vec<&str> = paths.into_iter().filter(|path| !common.contains(path)).collect();
        format!("{event}: {}", own.join(" "))
    });
    let error = "error.final error.kind error.layer error.message error.pattern error.resource error.retryable error.type";
    let expected = [
        "thread_started: ".to_owned(),
        "thread_continued: ".to_owned(),
        "after_step: called_items called_items.N calls.N.is_error calls.N.item_id calls.N.name text".to_owned(),
        "limit: limit.final limit.maximum limit.message limit.name limit.value".to_owned(),
        format!("error: {error}"),
        "directive_return: outputs.*".to_owned(),
        format!("after_complete: {error} state text"),
        "context_limit_reached: context.tokens context.window".to_owned(),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    let directive: Vec<&str> =
        HookEvent::opening_paths().into_iter().filter(|it| it.starts_with("directive.")).collect();
    assert_eq!(HookEvent::ResolveExtends.data_paths(), directive);
    assert_eq!(directive.len(), 6);
    assert_eq!(HookEvent::opening_paths().len(), 8);
    assert_eq!(common.len(), 22);
    assert!(HookEvent::AfterStep.has_of_its_own("calls"));
    assert!(!HookEvent::AfterStep.has_of_its_own("calls.N"));
    assert!(!HookEvent::AfterStep.has_of_its_own("cost"));
}

#[test]
fn layers_are_numbered_from_the_operators() {
    let numbers: Vec<String> = HookLayer::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(numbers, ["0", "1", "2", "3", "4"]);
    assert_eq!(HookLayer::Project.number(), 3);
}

#[test]
fn a_mode_with_mounts_of_its_own_is_whole() {
    let whole: Vec<bool> = SandboxMode::ALL.iter().map(|mode| mode.is_whole()).collect();
    assert_eq!(whole, [true, true, false, false]);
}

#[test]
fn a_thread_ends_in_four_states() {
    let ended = ThreadState::ALL.iter().copied().filter(|state| state.is_final());
    assert_eq!(
        names(&ended.collect::<Vec<_>>(), ThreadState::as_str),
        ["cancelled", "completed", "continued", "error"]
    );
}

#[test]
fn sums_never_wrap() {
    let (one, most) = (Nanos::new(1), Nanos::new(u64::MAX));
    assert_eq!(one.checked_add(one), Some(Nanos::new(2)));
    assert_eq!(most.checked_add(one), None);
    assert_eq!((one.saturating_add(one), most.saturating_add(one)), (Nanos::new(2), most));
    assert_eq!(
        (most.saturating_sub(one).get(), one.saturating_sub(most)),
        (u64::MAX - 1, Nanos::ZERO)
    );
    let many = Usage { input: 1, output: 2, cache_read: 3, cache_write: u64::MAX };
    let sum = Usage { input: 2, output: 4, cache_read: 6, cache_write: u64::MAX };
    assert_eq!(many.plus(&many), sum);
    assert_eq!((many.total(), Usage::new(3, 4).total()), (u64::MAX, 7));
}

/// Rows: a limit that ended a thread at a value, the limits that count by now, and `true` if the thread may go on.
#[test]
fn a_limit_is_lifted_when_it_is_above_what_was_reached() {
    let old = LimitSet::default();
    let cents = |cents: u64| SpendLimit::AtMost(Nanos::new(cents * 10_000_000));
    let rows = [
        (Limit::Turns, 10, LimitSet { turns: 10, ..old.clone() }, false),
        (Limit::Turns, 10, LimitSet { turns: 11, ..old.clone() }, true),
        (Limit::Tokens, 7, LimitSet { tokens: 7, ..old.clone() }, false),
        (Limit::Tokens, 7, LimitSet { tokens: 8, ..old.clone() }, true),
        (Limit::Duration, 9, LimitSet { duration_seconds: 9, ..old.clone() }, false),
        (Limit::Duration, 9, LimitSet { duration_seconds: 10, ..old.clone() }, true),
        (Limit::Spend, 1, LimitSet { spend: cents(50), ..old.clone() }, false),
        (Limit::Spend, 1, LimitSet { spend: cents(49), ..old.clone() }, false),
        (Limit::Spend, 1, LimitSet { spend: cents(51), ..old.clone() }, true),
        (Limit::Spend, 1, LimitSet { spend: SpendLimit::Unlimited, ..old.clone() }, true),
        (Limit::Depth, 0, LimitSet { depth: 9, ..old.clone() }, false),
        (Limit::Spawns, 0, LimitSet { spawns: 99, ..old.clone() }, false),
    ];
    for (limit, value, new, lifted) in rows {
        let hit = LimitHit::new(limit, value, value);
        assert_eq!(hit.is_lifted(&old, &new), lifted, "{limit} {value} {new:?}");
    }
    let unlimited = LimitSet { spend: SpendLimit::Unlimited, ..old.clone() };
    assert!(!LimitHit::new(Limit::Spend, 1, 1).is_lifted(&unlimited, &unlimited));
    assert!(!LimitHit::new(Limit::Spend, 1, 1).is_lifted(&unlimited, &old));
}

#[test]
fn raised_limits_say_if_there_are_any() {
    assert!(RaisedLimits::default().is_empty());
    assert!(!RaisedLimits { turns: Some(1), ..RaisedLimits::default() }.is_empty());
    let old = LimitSet::default();
    let same = RaisedLimits { spend: Some(old.spend), ..RaisedLimits::default() };
    assert!(same.raise(&old).is_err());
}

#[test]
fn a_moment_keeps_its_milliseconds() {
    for millis in [-1, 0, 1_795_197_600_250] {
        assert_eq!(Moment::from_unix_millis(millis).as_unix_millis(), millis);
    }
    assert_eq!(Moment::from_unix_millis(1_999).timestamp().as_unix(), 1);
    let first = LimitSet::default().first_hit(10, &Usage::default(), Duration::ZERO);
    assert_eq!(first, Some(LimitHit::new(Limit::Turns, 10, 10)));
}
