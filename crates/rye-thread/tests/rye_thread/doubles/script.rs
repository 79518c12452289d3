//! A provider that follows a script.

use super::*;

/// What the provider does when it is asked once more.
pub(crate) enum Turn {
    Reply(Reply),
    Fail(ProviderError),
    Hang,
    /// Waits for ever before another attempt, after one that cost nothing.
    Wait,
    /// Announces another attempt, and makes it.
    Again(Retry, Box<Turn>),
    /// Runs first.
    After(Box<dyn Fn() + Send + Sync>, Box<Turn>),
}

pub(crate) fn says(text: &str) -> Turn {
    Turn::Reply(reply(text, Vec::new(), StopReason::EndTurn))
}

pub(crate) fn calls(calls: Vec<ToolCall>) -> Turn {
    Turn::Reply(reply("", calls, StopReason::ToolUse))
}

pub(crate) fn fails(class: ProviderErrorClass) -> Turn {
    Turn::Fail(ProviderError::new(class, "the provider failed"))
}

/// As many failures of this class as end a thread.
pub(crate) fn fails_for_good(class: ProviderErrorClass) -> Vec<Turn> {
    let requests = match class {
        ProviderErrorClass::CutCall | ProviderErrorClass::Malformed => 3,
        ProviderErrorClass::Empty => 2,
        _ => 1,
    };
    std::iter::repeat_with(|| fails(class)).take(requests).collect()
}

/// A failure of this class that costs what it may, and then another attempt.
pub(crate) fn again(class: ProviderErrorClass, turn: Turn) -> Turn {
    let mut retry = Retry::new(2, 4, class, "the provider failed");
    retry.charge = if class.may_have_cost() { Charge::Possible } else { Charge::Nothing };
    retry.wait = Duration::from_secs(6);
    Turn::Again(retry, Box::new(turn))
}

pub(crate) fn after(action: impl Fn() + Send + Sync + 'static, turn: Turn) -> Turn {
    Turn::After(Box::new(action), Box::new(turn))
}

pub(crate) fn reply(text: &str, calls: Vec<ToolCall>, stop: StopReason) -> Reply {
    let mut reply = Reply::new(to_raw_value(&json!([{"text": text}])).unwrap(), stop);
    text.clone_into(&mut reply.text);
    reply.calls = calls;
    reply.usage = Usage::new(100, 10);
    reply
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

pub(crate) fn execute(id: &str, item_id: &str, parameters: &Value) -> ToolCall {
    call(
        id,
        "rye_execute",
        json!({"item_type": "tool", "item_id": item_id, "parameters": parameters}),
    )
}

pub(crate) fn returns(id: &str, outputs: Value) -> ToolCall {
    call(id, "rye_agent_threads_directive_return", outputs)
}

/// One dollar for a million tokens of either sort.
pub(crate) const PRICES: Prices = Prices::new(Nanos::new(1_000_000_000), Nanos::new(1_000_000_000));

pub(crate) struct Script {
    pub(super) info: ProviderInfo,
    pub(super) turns: Mutex<VecDeque<Turn>>,
    pub(super) requests: Mutex<Vec<Request>>,
    pub(super) fallback: Option<Box<Script>>,
}

impl Script {
    pub(super) fn new(info: ProviderInfo, turns: Vec<Turn>) -> Self {
        Self { info, turns: Mutex::new(turns.into()), requests: Mutex::default(), fallback: None }
    }
}

#[async_trait]
impl Provider for Script {
    fn describe(&self) -> ProviderInfo {
        self.info.clone()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        self.requests.lock().unwrap().push(request.clone());
        let mut turn = self
            .turns
            .lock()
            .unwrap()
            .pop_front()
            .expect("a request that the script does not have");
        if let Turn::After(action, then) = turn {
            action();
            turn = *then;
        }
        match turn {
            Turn::Reply(reply) => Ok(reply),
            Turn::Fail(error) => Err(error),
            Turn::Hang | Turn::Wait | Turn::After(..) | Turn::Again(..) => {
                std::future::pending().await
            }
        }
    }

    async fn stream(
        &self,
        request: &Request,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        fn waits(turn: &Turn) -> bool {
            match turn {
                Turn::After(_, then) => waits(then),
                turn => matches!(turn, Turn::Wait),
            }
        }
        let mut announced = Vec::new();
        {
            let mut turns = self.turns.lock().unwrap();
            while let Some(turn) = turns.pop_front() {
                let Turn::Again(retry, then) = turn else {
                    turns.push_front(turn);
                    break;
                };
                announced.push(retry);
                turns.push_front(*then);
            }
        }
        for retry in announced {
            deltas.retry(&retry).await;
            deltas.charge(Charge::Possible);
        }
        if self.turns.lock().unwrap().front().is_some_and(waits) {
            deltas.charge(Charge::Nothing);
        }
        let reply = self.complete(request).await?;
        deltas.delta(Delta::Text(&reply.text));
        Ok(reply)
    }

    fn fallback(&self) -> Option<&dyn Provider> {
        self.fallback.as_deref().map(|script| script as &dyn Provider)
    }
}
