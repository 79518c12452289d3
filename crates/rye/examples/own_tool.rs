//! A thread over a text and a tool of one's own, and no directive: `cargo run --example own_tool -- URL MODEL`, where
//! `URL` is that of an OpenAI-compatible server, up to `/v1`. The signed record is in `threads/`.

#![expect(clippy::print_stdout, reason = "a program talks to its terminal")]

use std::{error::Error, path::Path, sync::Arc};

use rye::caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Primary};
use rye::providers::{ModelPreference, ProviderConfig, connect};
use rye::thread::{Opening, OutputContract, Palette, PaletteEntry, Run, Setting, ThreadId};
use rye::thread::{Threads, ToolOutput, ToolSpec};
use rye::types::{Effect, LimitSet, SpendLimit};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (url, model) = words.next().zip(words.next()).ok_or("usage: own_tool URL MODEL")?;
    println!("{}", ask(&url, &model, Path::new("threads")).await?);
    Ok(())
}

/// Has the model answer, with the record of its thread in this folder.
pub(crate) async fn ask(url: &str, model: &str, folder: &Path) -> Result<String, Box<dyn Error>> {
    // No price is known of the model, so that no limit on money could hold; `limits.spend` below says so.
    let models = json!({ model: { "context_window": 32_768, "max_output": 4_096 } });
    let config = json!({ "protocol": "openai_chat", "base_url": url, "models": models });
    let config = ProviderConfig::from_value(&config)?;
    let choice =
        config.choose(&ModelPreference { id: Some(model), ..ModelPreference::default() })?;
    let provider = connect(&config, &choice, None, Arc::new(|| 0))?;

    let length = |arguments: Value| {
        let word = arguments["word"].as_str().unwrap_or_default();
        ToolOutput::ok(json!(word.chars().count()))
    };
    let properties = json!({ "word": { "type": "string" } });
    let schema = json!({ "type": "object", "properties": properties, "required": ["word"] });
    let spec = ToolSpec::new("length", "Counts the letters of a word.", schema);
    let needs = Capability::new(Primary::Execute, Kind::Tool, "length")?;
    let tool = PaletteEntry::new("length", spec, needs, Effect::ReadOnly, Arc::new(length));
    let palette = Palette::new(vec![tool])?;
    let grant = Grant::of_items("execute", "tool", "length")?;
    let authority = Authority::new(Layer::new(LayerName::Operator, grant));

    let first_user_message = "How many letters has `Donaudampfschiff`?".to_owned();
    let (opening, contract) =
        (Opening { system: None, first_user_message }, OutputContract::default());
    let limits = LimitSet { spend: SpendLimit::Unlimited, ..LimitSet::default() };
    let run = Run::new(opening, palette.specs(&contract), contract, limits, choice.max_output);

    let threads = Threads::open(folder, rye::sign::SigningKey::generate()?)?;
    let thread = ThreadId::new("letters", &uuid::Uuid::now_v7().to_string())?;
    let (provider, palette, clock) = (&*provider, &palette, &rye::SystemClock::new());
    let setting = Setting { provider, palette, authority: &authority, clock };
    let outcome = threads.drive(&thread, "letters", run, setting).await?;
    outcome.failure.map_or(Ok(outcome.text), |failure| Err(failure.message.into()))
}
