//! Events of every kind, generated with each option present and absent.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use rye_types::{
    Effect, HookEffect, HookEvent, Limit, LimitHit, LimitSet, Moment, Nanos, Prices, SpendLimit,
    ThreadState, Usage,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{
    AddedItem, ApprovalReason, ApprovalRequest, Counted, Decision, Event, Failure, FailureKind,
    ProviderErrorClass, ProviderInfo, Refusal, Reply, Retry, Spawn, StopReason, ThreadId, ToolCall,
    ToolResult, ToolSpec, TranscriptClaim, Waiting,
};

use crate::payload::{
    Asked, ChildEnd, Decided, Injected, Intent, ModelFallback, Receipt, RequestFailed,
    RequestRetried, Said, SharedReply, StepFinish, StepStart, SystemPrompt, Target, ThreadComplete,
    ThreadContinued, ThreadError, ThreadResumed, ThreadStart, Triggered,
};

/// Numbers at the edges of what JSON readers keep exactly.
fn number() -> BoxedStrategy<u64> {
    prop_oneof![
        select(vec![0, 1, (1 << 53) - 1, (1 << 53) + 1, u64::MAX - 1, u64::MAX]),
        any::<u64>()
    ]
    .boxed()
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![
        select(vec!["", "a\nb", "\"\\", "é 👩\u{200d}💻", "\u{1b}[2J", "null"])
            .prop_map(str::to_owned),
        "\\PC{0,12}",
    ]
    .boxed()
}

/// Content as providers send it, byte for byte: with halves of characters, floats and white space.
fn raw() -> BoxedStrategy<Box<RawValue>> {
    let pieces = vec![
        r#"[{"text": "\ud83d"}]"#,
        r#"[{"exact": 1.50, "e": 1e400}]"#,
        r#"[ {"n": 18446744073709551616} ]"#,
        r#"{"parts":[{"a":1,"a":2}]}"#,
        "[]",
        "null",
    ];
    select(pieces).prop_map(|json| RawValue::from_string(json.to_owned()).unwrap()).boxed()
}

fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        select(vec!["1.5", "-0.0", "1e300", "0.1"])
            .prop_map(|it| serde_json::from_str(it).unwrap()),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((text(), inner), 0..3).prop_map(|it| it.into_iter().collect()),
        ]
    })
    .boxed()
}

fn object() -> BoxedStrategy<Map<String, Value>> {
    vec((text(), value()), 0..3).prop_map(|members| members.into_iter().collect()).boxed()
}

fn nanos() -> BoxedStrategy<Nanos> {
    number().prop_map(Nanos::new).boxed()
}

fn usage() -> BoxedStrategy<Usage> {
    [number(), number(), number(), number()]
        .prop_map(|[input, output, cache_read, cache_write]| Usage {
            input,
            output,
            cache_read,
            cache_write,
        })
        .boxed()
}

fn prices() -> BoxedStrategy<Option<Prices>> {
    let prices = [nanos(), nanos(), nanos(), nanos()];
    option::of(prices.prop_map(|[input, output, cache_read, cache_write]| Prices {
        input,
        output,
        cache_read,
        cache_write,
    }))
    .boxed()
}

fn limits() -> BoxedStrategy<LimitSet> {
    let spend = prop_oneof![Just(SpendLimit::Unlimited), nanos().prop_map(SpendLimit::AtMost)];
    let numbers = [number(), number(), number(), number(), number()];
    (numbers, spend)
        .prop_map(|([turns, tokens, duration_seconds, spawns, depth], spend)| LimitSet {
            turns,
            tokens,
            spend,
            duration_seconds,
            spawns,
            depth,
        })
        .boxed()
}

fn thread() -> BoxedStrategy<ThreadId> {
    (0..10_u8)
        .prop_map(|number| {
            format!("a-019a0000-0000-7000-8000-00000000000{number}").parse().unwrap()
        })
        .boxed()
}

fn millis() -> BoxedStrategy<Duration> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>()].prop_map(Duration::from_millis).boxed()
}

fn moment() -> BoxedStrategy<Moment> {
    (-1_i64..4_000_000_000_000).prop_map(Moment::from_unix_millis).boxed()
}

fn class() -> BoxedStrategy<ProviderErrorClass> {
    select(ProviderErrorClass::ALL).boxed()
}

fn hit() -> BoxedStrategy<LimitHit> {
    (select(Limit::ALL), number(), number())
        .prop_map(|(limit, value, maximum)| LimitHit { limit, value, maximum })
        .boxed()
}

fn failure() -> BoxedStrategy<Failure> {
    let kind = prop_oneof![
        select(FailureKind::PLAIN.to_vec()),
        hit().prop_map(FailureKind::Limit),
        class().prop_map(FailureKind::Provider),
    ];
    (kind, text()).prop_map(|(kind, message)| Failure::new(kind, &message)).boxed()
}

fn refusal() -> BoxedStrategy<Refusal> {
    (text(), text(), option::of(text()), text())
        .prop_map(|(capability, layer, pattern, message)| {
            Refusal::new(&capability, &layer, pattern.as_deref(), &message)
        })
        .boxed()
}

fn added() -> BoxedStrategy<AddedItem> {
    let pattern = select(vec!["rye.*", "rye.load.*", "rye.execute.tool.a.?"]);
    let grant = vec(pattern.prop_map(|it| it.parse().unwrap()), 0..3)
        .prop_map(|patterns| patterns.into_iter().collect());
    (object(), option::of((text(), vec(grant, 0..3))))
        .prop_map(|(facts, signer)| match signer {
            Some((key, grants)) => AddedItem::new(facts).signed_by(&key, grants),
            None => AddedItem::new(facts),
        })
        .boxed()
}

fn reply() -> BoxedStrategy<Reply> {
    let call = (text(), text(), prop_oneof![value().prop_map(Ok), text().prop_map(Err)]).prop_map(
        |(id, name, arguments)| match arguments {
            Ok(arguments) => ToolCall::new(&id, &name, arguments),
            Err(reason) => ToolCall::unreadable(&id, &name, &reason),
        },
    );
    let stop = select(vec!["end_turn", "tool_use", "max_tokens", "a word of its own", ""])
        .prop_map(|word| word.parse::<StopReason>().unwrap());
    (raw(), stop, text(), text(), vec(call, 0..3), usage(), any::<bool>())
        .prop_map(|(raw, stop, text, reasoning, calls, usage, is_counted)| {
            let mut reply = Reply::new(raw, stop);
            (reply.text, reply.reasoning, reply.calls, reply.usage) =
                (text, reasoning, calls, usage);
            reply.counted = if is_counted { Counted::ByProvider } else { Counted::Unreported };
            reply
        })
        .boxed()
}

fn info() -> BoxedStrategy<ProviderInfo> {
    (text(), text(), prices())
        .prop_map(|(provider, model, prices)| {
            let mut info = ProviderInfo::new(&provider, &model, 0, 0);
            info.prices = prices;
            info
        })
        .boxed()
}

fn target() -> BoxedStrategy<Option<Target>> {
    let effect = select(vec![Effect::Idempotent, Effect::Once, Effect::ReadOnly]);
    option::of(
        (text(), text(), effect)
            .prop_map(|(item, capability, effect)| Target::new(&item, &capability, effect)),
    )
    .boxed()
}

fn request() -> BoxedStrategy<ApprovalRequest> {
    let reason = select(ApprovalReason::ALL);
    (thread(), text(), text(), value(), reason, vec(text(), 0..3))
        .prop_map(|(thread, call, item, arguments, reason, covers)| {
            ApprovalRequest::new(&thread, &call, &item, &arguments, reason).covering(covers)
        })
        .boxed()
}

fn tools() -> BoxedStrategy<Vec<ToolSpec>> {
    let tool =
        (text(), text(), value(), option::of(value())).prop_map(|(name, about, input, output)| {
            let spec = ToolSpec::new(&name, &about, input);
            match output {
                // A schema that is `null` would be read as none.
                Some(output) if !output.is_null() => spec.with_output_schema(output),
                _ => spec,
            }
        });
    vec(tool, 0..3).boxed()
}

/// Every event but a checkpoint, in three parts, because a choice has a bound.
pub(crate) fn event() -> BoxedStrategy<Event> {
    prop_oneof![of_calls(), of_requests(), of_threads()].boxed()
}

fn of_calls() -> BoxedStrategy<Event> {
    let reason = select(vec![None, Some("not now")]);
    let decision = (select(vec![0, 1, 2]), reason).prop_map(|(kind, reason)| match kind {
        0 => Decision::Approved,
        1 => Decision::ApprovedInThread,
        _ => Decision::Denied(reason.map(|reason| reason.parse().unwrap())),
    });
    let decided = (request(), decision, text())
        .prop_map(|(request, decision, by)| Decided::new(&request, decision, &by));
    let intent = (text(), text(), value(), target(), option::of((text(), any::<bool>()))).prop_map(
        |(call_id, name, arguments, target, hook)| {
            let (hook, injects) = hook.unzip();
            Intent { call_id, name, arguments, target, hook, injects }
        },
    );
    let result = (text(), text(), value(), any::<bool>(), option::of(text())).prop_map(
        |(call, name, content, is_error, standard_error)| {
            let call = ToolCall::new(&call, &name, Value::Null);
            let result = match is_error {
                true => ToolResult::error(&call, content),
                false => ToolResult::ok(&call, content),
            };
            result.with_standard_error(standard_error)
        },
    );
    let extras = (option::of(refusal()), option::of(hit()), vec(added(), 0..2), option::of(text()));
    let receipt = (result, extras).prop_map(|(result, (refusal, limit, added, hook))| Receipt {
        refusal,
        // Only a call of the model has these.
        limit: limit.filter(|_| hook.is_none()),
        added: if hook.is_none() { added } else { Vec::new() },
        hook,
        ..Receipt::new(result)
    });
    let injected = (option::of(text()), text(), text(), option::of(text())).prop_map(
        |(item, position, sha256, hook)| {
            let injected = Injected::new(item.as_deref(), &position, &sha256);
            match hook {
                Some(hook) => injected.by_hook(&hook),
                None => injected,
            }
        },
    );
    let triggered = (
        (number(), select(HookEvent::ALL), text(), text(), any::<u8>()),
        (option::of(select(HookEffect::ALL)), option::of(failure()), any::<bool>(), value()),
    )
        .prop_map(
            |((evaluation, event, hook, declared_by, layer), (effect, failure, is_final, data))| {
                Triggered {
                    evaluation,
                    event,
                    hook,
                    declared_by,
                    layer,
                    effect,
                    failure,
                    is_final,
                    data,
                }
            },
        );
    prop_oneof![
        decided.prop_map(Event::ApprovalDecided),
        request().prop_map(|it| Event::ApprovalRequested(Asked::of(&it))),
        intent.prop_map(Event::ToolCallStart),
        receipt.prop_map(Event::ToolCallResult),
        injected.prop_map(Event::ContextInjected),
        triggered.prop_map(Event::HookTriggered),
    ]
    .boxed()
}

fn of_requests() -> BoxedStrategy<Event> {
    let retry =
        (any::<u32>(), any::<u32>(), class(), text(), option::of(millis()), millis(), usage())
            .prop_map(|(attempt, attempts, class, message, hint, wait, usage)| {
                let mut retry = Retry::new(attempt, attempts, class, &message);
                (retry.hint, retry.wait, retry.usage) = (hint, wait, usage);
                retry
            });
    prop_oneof![
        text().prop_map(|text| Event::AssistantReasoning(Said { text })),
        text().prop_map(|text| Event::AssistantText(Said { text })),
        text().prop_map(|text| Event::UserMessage(Said { text })),
        text().prop_map(|text| Event::SystemPrompt(SystemPrompt::new(&text))),
        (info(), text())
            .prop_map(|(info, why)| Event::ModelFallback(ModelFallback::new(&info, &why))),
        (number(), text(), text(), nanos()).prop_map(|(turn, class, message, cost)| {
            Event::RequestFailed(RequestFailed { turn, class, message, cost })
        }),
        (number(), retry, nanos(), nanos()).prop_map(|(turn, retry, cost, reserved)| {
            Event::RequestRetried(RequestRetried::new(turn, &retry, cost, reserved))
        }),
        (number(), reply(), nanos()).prop_map(|(turn, reply, cost)| {
            Event::StepFinish(StepFinish { turn, reply: SharedReply::new(reply), cost })
        }),
        (number(), nanos(), number()).prop_map(|(turn, reserved, max_output_tokens)| {
            Event::StepStart(StepStart { turn, reserved, max_output_tokens })
        }),
    ]
    .boxed()
}

fn of_threads() -> BoxedStrategy<Event> {
    let totals = || (number(), usage(), nanos());
    let child = (thread(), select(ThreadState::ALL), nanos(), any::<bool>(), number(), text())
        .prop_map(|(child, state, cost, is_overrun, records, head)| {
            let claim = TranscriptClaim::new(records, head, false);
            ChildEnd { is_overrun, ..ChildEnd::new(child, state, cost, claim) }
        });
    let spawn = (text(), thread(), text(), any::<bool>(), limits(), number()).prop_map(
        |(call, child, directive, is_async, limits, added)| {
            let waiting = if is_async { Waiting::ForNothing } else { Waiting::ForTheEnd };
            let mut spawn = Spawn::new(&call, child, &directive, waiting, limits);
            spawn.added = added;
            spawn
        },
    );
    let resumed = (number(), number(), object(), nanos(), millis(), text(), option::of(limits()))
        .prop_map(|(opening, cut_bytes, facts, cost, elapsed, signed_by, limits)| ThreadResumed {
            opening,
            cut_bytes,
            facts,
            cost,
            elapsed,
            signed_by,
            limits,
        });
    let start = (info(), limits(), thread(), moment(), text()).prop_map(
        |(info, limits, root, created, key)| ThreadStart::new(&info, limits, root, created, key),
    );
    let rest = (
        tools(),
        vec((text(), text()), 0..3),
        object(),
        option::of(thread()),
        option::of(thread()),
    );
    let start = (start, rest).prop_map(|(start, (tools, palette, facts, parent, continues))| {
        let palette = palette.into_iter().collect();
        ThreadStart { tools, palette, facts, parent, continues, ..start }
    });
    prop_oneof![
        child.prop_map(Event::ChildEnded),
        spawn.prop_map(Event::SpawnChild),
        (totals(), option::of(object()), text()).prop_map(
            |((turns, usage, cost), outputs, text)| {
                Event::ThreadComplete(ThreadComplete { turns, usage, cost, outputs, text })
            }
        ),
        (totals(), thread(), limits(), text()).prop_map(
            |((turns, usage, cost), next, limits, text)| {
                Event::ThreadContinued(ThreadContinued { turns, usage, cost, next, limits, text })
            },
        ),
        (totals(), select(ThreadState::ALL), option::of(failure())).prop_map(
            |((turns, usage, cost), state, failure)| {
                Event::ThreadError(ThreadError { turns, usage, cost, state, failure })
            },
        ),
        resumed.prop_map(Event::ThreadResumed),
        start.prop_map(Event::ThreadStart),
    ]
    .boxed()
}
