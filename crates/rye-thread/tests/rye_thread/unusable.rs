//! Answers that cannot be used: the model is asked again, and one bad turn does not cost the thread (SPEC D18).

use rye_thread::{Cancel, Counted, Reply, Request, StopReason, ToolCall};
use rye_types::{Effect, Nanos, RaisedLimits, SpendLimit, ThreadState, Usage};
use serde_json::{Value, json};

use crate::doubles::{PRICES, Thread, Turn, call, calls, echo, reply, returns, says, score};
use crate::sweep::sweep;
use crate::world::{World, count, ended_as, line_ends, tokens, visible};

pub(crate) fn malformed() -> Reply {
    reply("", Vec::new(), StopReason::Other("malformed_function_call".to_owned()))
}

pub(crate) fn cut_call() -> Reply {
    let half = ToolCall::unreadable("1", "a_echo", "EOF while parsing a string");
    reply("", vec![half], StopReason::MaxTokens)
}

fn empty() -> Reply {
    reply(" \n", Vec::new(), StopReason::EndTurn)
}

fn unreadable() -> Reply {
    let unreadable = ToolCall::unreadable("2", "a_echo", "expected `:` at column 3");
    reply("Let me see.", vec![call("1", "a_echo", json!({})), unreadable], StopReason::ToolUse)
}

/// An answer that cannot be used, with the class and the words of its record.
struct Row {
    reply: fn() -> Reply,
    class: &'static str,
    /// The most answers.
    attempts: usize,
    message: &'static str,
    advice: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        reply: malformed,
        class: "malformed",
        attempts: 3,
        message: "the model stopped for `malformed_function_call`, so its answer may not be whole",
        advice: "it was asked three times",
    },
    Row {
        reply: || {
            reply(
                "So be it",
                vec![call("1", "a_echo", json!({}))],
                StopReason::Other("unexpected_tool_call".to_owned()),
            )
        },
        class: "malformed",
        attempts: 3,
        message: "the model stopped for `unexpected_tool_call`, so its answer may not be whole",
        advice: "it was asked three times",
    },
    Row {
        reply: unreadable,
        class: "malformed",
        attempts: 3,
        message: "the call of `a_echo` cannot be read: expected `:` at column 3",
        advice: "it was asked three times",
    },
    Row {
        reply: || reply("", Vec::new(), StopReason::ToolUse),
        class: "malformed",
        attempts: 3,
        message: "the model stopped to call tools and its answer has no call",
        advice: "it was asked three times",
    },
    Row {
        reply: cut_call,
        class: "cut_call",
        attempts: 3,
        message: "the answer reached the most tokens that it may have in the middle of a call",
        advice: "it may have 2000 tokens; raise `max_output` of `model-1` in the file of the provider `scripted`",
    },
    Row {
        reply: || reply("", Vec::new(), StopReason::MaxTokens),
        class: "cut_call",
        attempts: 3,
        message: "the answer reached the most tokens that it may have before it said anything",
        advice: "it may have 2000 tokens; raise `max_output` of `model-1` in the file of the provider `scripted`",
    },
    Row {
        reply: empty,
        class: "empty",
        attempts: 2,
        message: "the model answered with nothing",
        advice: "it was asked twice",
    },
    Row {
        reply: || reply("", Vec::new(), StopReason::StopSequence),
        class: "empty",
        attempts: 2,
        message: "the model answered with nothing",
        advice: "it was asked twice",
    },
];

impl Row {
    fn thread(&self, unusable: usize, then: Vec<Turn>) -> Thread {
        let spoilt = std::iter::repeat_with(|| Turn::Reply((self.reply)())).take(unusable);
        Thread::new(spoilt.chain(then).collect()).with(echo("a/echo", Effect::Once))
    }

    /// Returns the text that the model got with its next request.
    fn reminder(&self, task: &str) -> Option<String> {
        (self.class == "empty")
            .then(|| format!("Your last answer was empty. Carry out the directive. {task}"))
    }
}

/// The messages of a request, as text.
fn told(request: &Request) -> Vec<String> {
    request.messages.iter().map(|message| format!("{message:?}")).collect()
}

fn cost(reply: &Reply) -> u64 {
    PRICES.cost(&reply.usage).get()
}

/// The request is made again as it was, paid and on record, and no turn is counted. Then the thread goes on.
#[tokio::test]
async fn it_is_asked_again() {
    for row in ROWS {
        for unusable in 1..row.attempts {
            let then = vec![calls(vec![call("1", "a_echo", json!({"n": 1}))]), says("So it is.")];
            let driven = row.thread(unusable, then).drive().await;
            driven.check_consistent();
            let outcome = &driven.outcome;
            assert_eq!(
                (outcome.state, outcome.turns),
                (ThreadState::Completed, 2),
                "{}",
                row.message
            );
            let unused = (row.reply)().usage;
            let usage = (0..unusable).fold(Usage::new(200, 20), |sum, _| sum.plus(&unused));
            assert_eq!(outcome.usage, usage, "the answers that were used, and those that were not");
            assert_eq!(
                outcome.cost.get(),
                cost(&(row.reply)()) * u64::try_from(unusable + 2).unwrap()
            );
            let retried = driven.payloads("request_retried");
            assert_eq!(retried.len(), unusable);
            for (payload, attempt) in retried.iter().zip(2..) {
                let expected = json!([1, row.class, row.message, attempt, row.attempts, 0]);
                let found = ["turn", "class", "message", "attempt", "attempts", "wait_millis"]
                    .map(|member| payload[member].clone());
                assert_eq!(json!(found), expected);
                assert_eq!(payload["cost_nanos"], cost(&(row.reply)()));
                let first = driven.payloads("step_start")[0]["reserved_nanos"].as_u64();
                assert!(payload["reserved_nanos"].as_u64() >= first, "{payload}");
            }
            let first = told(&driven.requests[0]);
            for request in &driven.requests[1..=unusable] {
                let told = told(request);
                assert_eq!(told[..first.len()], first);
                let reminder = row.reminder("When it is done, say so in words.");
                assert_eq!(told.len(), first.len() + reminder.iter().len());
                let reminds = |text: &String| told.last().is_some_and(|last| last.contains(text));
                assert!(reminder.iter().all(reminds), "{told:?}");
            }
            let last = told(driven.requests.last().unwrap());
            let answers = last.iter().filter(|message| message.starts_with("Assistant")).count();
            assert_eq!(answers, 1, "what cannot be used is not sent back");
            let warning = "an answer of turn 1 was not used and was asked for again";
            assert!(outcome.warnings[0].starts_with(warning), "{:?}", outcome.warnings);
        }
    }
}

/// After the last attempt the thread is stopped, with the cost of each answer, and the message says what to do.
#[tokio::test]
async fn it_is_given_up() {
    for row in ROWS {
        let driven = row.thread(row.attempts, Vec::new()).drive().await;
        driven.check_consistent();
        let failure = driven.outcome.failure.as_ref().unwrap();
        assert_eq!(failure.message, format!("{}; {}", row.message, row.advice));
        assert!(failure.kind.may_go_on(), "{failure}");
        let ended = driven.payloads("thread_error").remove(0);
        assert_eq!((&ended["failure"]["class"], &ended["turns"]), (&json!(row.class), &json!(0)));
        let failed = driven.payloads("request_failed").remove(0);
        assert_eq!(
            (&failed["class"], &failed["message"]),
            (&json!(row.class), &json!(row.message))
        );
        assert_eq!(driven.left, 0);
        let each = cost(&(row.reply)());
        assert_eq!(driven.outcome.cost.get(), each * u64::try_from(row.attempts).unwrap());
    }
}

/// A thread whose model has done something may end with nothing, and says so. One that owes outputs may not.
#[tokio::test]
async fn nothing_after_a_call_that_succeeded_is_an_end() {
    let made = || calls(vec![call("1", "a_echo", json!({"n": 1}))]);
    let thread = Thread::new(vec![made(), Turn::Reply(empty())]).with(echo("a/echo", Effect::Once));
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed);
    assert_eq!(driven.outcome.warnings, ["the answer of turn 2 was empty"]);

    let script = vec![made(), Turn::Reply(empty()), calls(vec![returns("2", json!({"score": 7}))])];
    let thread = Thread::new(script).with(echo("a/echo", Effect::Once)).returning(score());
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.outputs.as_ref().unwrap()["score"], 7);
    assert_eq!(driven.payloads("request_retried"), Vec::<Value>::new());
}

/// The reminder names the outputs that are owed, and a call that failed is no success.
#[tokio::test]
async fn the_reminder_names_the_outputs() {
    let script = vec![
        calls(vec![call("1", "a_gone", json!({}))]),
        Turn::Reply(empty()),
        calls(vec![returns("2", json!({"score": 7}))]),
    ];
    let driven = Thread::new(script).returning(score()).drive().await;
    driven.check_consistent();
    assert_eq!((driven.outcome.state, driven.outcome.turns), (ThreadState::Completed, 2));
    let text = "Your last answer was empty. Carry out the directive. When it is done, call \
                `rye_agent_threads_directive_return` with: `score` (integer, required).";
    assert_eq!(driven.payloads("user_message")[1]["text"], text);
}

/// Nothing is asked again that cannot be paid, and what nobody counted costs its whole reservation.
#[tokio::test]
async fn money_and_time_bound_it() {
    for row in ROWS {
        let uncounted = || {
            let mut reply = (row.reply)();
            (reply.usage, reply.counted) = (Usage::default(), Counted::Unreported);
            Turn::Reply(reply)
        };
        let script = || vec![uncounted(), says("So it is.")];
        let mut rich = Thread::new(script());
        rich.limits.spend = SpendLimit::Unlimited;
        let driven = rich.drive().await;
        driven.check_consistent();
        let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
        assert_eq!(driven.payloads("request_retried")[0]["cost_nanos"], reserved);

        let mut poor = Thread::new(vec![uncounted()]);
        poor.limits.spend = SpendLimit::AtMost(Nanos::new(reserved + 1_000));
        let driven = poor.drive().await;
        driven.check_consistent();
        let failure = driven.failure();
        assert!(
            failure.contains("; another answer is not paid for: limit `spend` reached"),
            "{failure}"
        );
        assert_eq!((driven.requests.len(), driven.spent()), (1, (reserved, 0)));

        let mut late = Thread::new(Vec::new());
        let clock = std::sync::Arc::clone(&late.clock);
        let bad = Turn::Reply((row.reply)());
        late.script = vec![crate::doubles::after(move || clock.advance(10_000), bad)];
        let driven = late.drive().await;
        driven.check_consistent();
        assert!(
            driven.failure().contains("limit `duration_seconds` reached"),
            "{}",
            driven.failure()
        );
        assert_eq!(driven.spent().0, cost(&(row.reply)()));
    }
}

/// Killed at any record around such answers, the thread ends as it would have: asked no more often, with the same history.
#[tokio::test]
async fn a_thread_that_was_killed_while_it_asked_again_goes_on() {
    for (turn, count_of, spoilt) in
        [(7, 2, malformed as fn() -> Reply), (7, 2, cut_call), (7, 2, unreadable), (0, 1, empty)]
    {
        let mut whole = World::new();
        whole.model.spoils = Some((turn, count_of, spoilt));
        let expected = whole.begin(std::sync::Arc::clone(&whole.store) as _, &Cancel::new()).await;
        let expected = expected.unwrap();
        assert_eq!((expected.state, expected.turns), (ThreadState::Completed, 20));
        let (bytes, reading) = (whole.bytes(), whole.reading());
        assert_eq!(count(&reading, "request_retried"), usize::try_from(count_of).unwrap());
        assert_eq!(whole.replay("", "").await.divergence, None);
        let first = reading.records.iter().position(|it| it.name() == "request_retried").unwrap();
        let near = line_ends(&bytes).enumerate().filter(|(index, _)| index.abs_diff(first) <= 8);
        for (index, end) in sweep(near, 0, 4) {
            for left in 0..=count_of {
                let mut cut = whole.cut(&bytes[..end]);
                cut.model.spoils = Some((turn, left, spoilt));
                let found = cut.resume("Begin.").await.unwrap();
                let known = count(&cut.reading(), "request_retried");
                assert!(
                    known <= usize::try_from(count_of).unwrap(),
                    "asked no more often: {known}"
                );
                assert_eq!(cut.replay("", "").await.divergence, None, "cut at record {index}");
                let account = cut.account();
                assert_eq!((account.cost, account.reserved), (found.cost, Nanos::ZERO));
                let found = match found.state {
                    ThreadState::Completed => found,
                    _ => cut.reopen(RaisedLimits::default()).await.unwrap(),
                };
                assert_eq!(found.state, ThreadState::Completed, "cut at record {index}");
                if count_of == 2 {
                    assert_eq!(ended_as(&found), ended_as(&expected), "cut at record {index}");
                    assert_eq!(found.usage, tokens(&cut.reading()), "cut at record {index}");
                    assert_eq!(visible(&cut.reading()), visible(&reading), "cut at {index}");
                }
                assert_eq!(cut.replay("", "").await.divergence, None, "cut at record {index}");
            }
        }
    }
}
