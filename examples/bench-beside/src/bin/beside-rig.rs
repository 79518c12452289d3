//! `beside-rig`: the conversations with an agent of rig, with its defaults.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rig::providers::openai::OpenAIConfig;
use rig::tool::PortableTool;
use rig::{Agent, AgentBuilder};
use rye_bench_beside::{
    ADD, Arguments, DESCRIPTION, Ended, Engine, MAX_OUTPUT, MODEL, Numbers, Problem, SYSTEM,
    first_message, parameters,
};
use serde_json::Value;

/// The tool, which counts its calls.
struct Add(Arc<AtomicUsize>);

impl PortableTool for Add {
    const NAME: &'static str = ADD;
    type Args = Numbers;
    type Output = f64;
    type Error = Infallible;

    fn description(&self) -> String {
        DESCRIPTION.to_owned()
    }

    fn parameters(&self) -> Value {
        parameters()
    }

    async fn call(&self, numbers: Numbers) -> Result<f64, Infallible> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(numbers.sum())
    }
}

struct Rig {
    agent: Agent,
    calls: Arc<AtomicUsize>,
    turns: usize,
}

impl Engine for Rig {
    const PACKAGE: &'static str = "rig";

    fn new(arguments: &Arguments) -> Result<Self, Problem> {
        let calls = Arc::new(AtomicUsize::new(0));
        let config = OpenAIConfig::new("no-secret").with_base_url(&arguments.base_url);
        let agent = AgentBuilder::new(config.client().chat(MODEL))
            .preamble(SYSTEM)
            .max_tokens(MAX_OUTPUT.into())
            .tool(Add(Arc::clone(&calls)))
            .build();
        Ok(Self { agent, calls, turns: arguments.turns })
    }

    async fn converse(&self) -> Result<Ended, Problem> {
        self.calls.store(0, Ordering::Relaxed);
        let prompt = self.agent.prompt(first_message(self.turns));
        let answer = prompt.max_turns(self.turns + 2).await?;
        Ok(Ended { calls: self.calls.load(Ordering::Relaxed), text: answer.output().to_owned() })
    }
}

fn main() -> ExitCode {
    rye_bench_beside::run::<Rig>("beside-rig")
}
