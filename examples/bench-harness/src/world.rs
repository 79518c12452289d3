//! The state that all threads of a process share.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rye_caps::{Authority, Grant, Layer, LayerName};
use rye_providers::{ModelPreference, ProviderConfig, connect};
use rye_sign::{PublicKey, SigningKey};
use rye_thread::transcript::{EventKind, read_file};
use rye_thread::{
    Clock, Opening, OutputContract, Palette, Provider, Run, Setting, ThreadId, Threads,
};
use rye_types::{LimitSet, Moment, Nanos, SpendLimit, ThreadState};
use serde_json::json;

use crate::adding::{ADD, add};
use crate::{Api, Arguments};

/// The store, the key, the authority and the provider of all conversations.
pub(crate) struct World {
    threads: Threads,
    public: PublicKey,
    provider: Box<dyn Provider>,
    palette: Palette,
    authority: Authority,
    limits: LimitSet,
    turns: u64,
}

impl World {
    pub(crate) fn new(arguments: &Arguments, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let key = SigningKey::generate()?;
        // Only the tool is granted, as in a directive.
        let grant: Grant = Grant::of_items("execute", "tool", ADD)?;
        let mut limits = LimitSet::default();
        (limits.turns, limits.tokens) = (arguments.turns + 2, u64::MAX);
        limits.spend = SpendLimit::AtMost(Nanos::new(1_000_000_000_000));
        limits.duration_seconds = 3_600;
        Ok(Self {
            public: key.public(),
            threads: Threads::open(&folder.join("threads"), key)?,
            provider: provider(arguments)?,
            palette: Palette::new(vec![add()?])?,
            authority: Authority::new(Layer::new(LayerName::Operator, grant)),
            limits,
            turns: arguments.turns,
        })
    }

    /// Holds a conversation from its beginning to its end.
    pub(crate) async fn converse(&self) -> Result<ThreadId, Box<dyn Error + Send + Sync>> {
        let clock = SystemClock(Instant::now());
        let thread = ThreadId::new("bench", &uuid::Uuid::now_v7().to_string())?;
        let contract = OutputContract::default();
        let first_user_message = format!("Add numbers, {} times, then say the sum.", self.turns);
        let opening = Opening { system: Some("You add numbers.".to_owned()), first_user_message };
        let tools = self.palette.specs(&contract);
        let run = Run::new(opening, tools, contract, self.limits.clone(), MAX_OUTPUT);
        let provider = &*self.provider;
        let palette = &self.palette;
        let setting = Setting { provider, palette, authority: &self.authority, clock: &clock };
        let outcome = self.threads.drive(&thread, "bench", run, setting).await?;
        match outcome.failure {
            Some(failure) => Err(failure.message.into()),
            None if outcome.state != ThreadState::Completed => {
                Err(format!("a thread ended as {}", outcome.state).into())
            }
            None if outcome.turns != self.turns + 1 => {
                let made = outcome.turns;
                let meant = self.turns + 1;
                Err(format!("a conversation made {made} requests instead of {meant}").into())
            }
            None => Ok(thread),
        }
    }

    /// Checks the transcript of a finished conversation: it must be complete, chained and signed to its end.
    pub(crate) fn verify(&self, thread: &ThreadId) -> Result<(), Box<dyn Error + Send + Sync>> {
        let path = self.threads.folder(thread).join("transcript.jsonl");
        let reading = read_file(&path, thread, std::slice::from_ref(&self.public))?;
        let count = |kind: EventKind| reading.of_kind(kind).count();
        let turns = usize::try_from(self.turns)?;
        let counted = [
            EventKind::StepStart,
            EventKind::StepFinish,
            EventKind::ToolCallStart,
            EventKind::ToolCallResult,
        ]
        .map(count);
        if counted != [turns + 1, turns + 1, turns, turns]
            || reading.signed < reading.records.len() as u64 - 1
        {
            return Err(format!("the transcript has {counted:?} records of a turn").into());
        }
        Ok(())
    }
}

const MAX_OUTPUT: u64 = 4_096;

fn provider(arguments: &Arguments) -> Result<Box<dyn Provider>, Box<dyn Error>> {
    let server = arguments.url.trim_end_matches('/').trim_end_matches("/v1");
    let (protocol, base_url, auth) = match arguments.api {
        Api::Anthropic => ("anthropic_messages", server.to_owned(), "x-api-key"),
        Api::OpenAi => ("openai_chat", format!("{server}/v1"), "authorization"),
        Api::Responses => ("openai_responses", format!("{server}/v1"), "authorization"),
    };
    let prices = json!({ "input": 1, "output": 2, "cache_read": 1, "cache_write": 1 });
    let model = json!({ "context_window": 10_000_000, "max_output": MAX_OUTPUT, "prices": prices });
    let config = ProviderConfig::from_value(&json!({
        "protocol": protocol,
        "base_url": base_url,
        "auth": { "env": "BENCH_KEY", "header": auth },
        "models": { &*arguments.model: model },
        "stream": arguments.stream,
    }))?;
    let choice = config
        .choose(&ModelPreference { id: Some(&arguments.model), ..ModelPreference::default() })?;
    // The random bits only affect the waits between attempts.
    let key = "no-secret".parse()?;
    Ok(connect(&config, &choice, Some(key), Arc::new(|| 0))?)
}

struct SystemClock(Instant);

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this program's clock is read here")]
    fn now(&self) -> Moment {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Moment::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
