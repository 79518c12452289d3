//! Runs a directive with a key, an observer and an approver: `run_with_host PROJECT USER_SPACE DIRECTIVE`.
#![expect(clippy::print_stdout, reason = "a program talks to its terminal")]
#![expect(clippy::disallowed_methods, reason = "a program hands its environment over")]

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use rye::providers::ApiKey;
use rye::thread::transcript::Event;
use rye::thread::{ApprovalRequest, Approver, Cancel, Decider, Decision, Observer};
use rye::{
    Host, ProviderChoice, RunReport, RunRequest, Rye, Secrets, Setup, SystemClock, shipped_files,
};
use rye::{resolve::Spaces, sign::SigningKey};

type Failure = Box<dyn std::error::Error>;

/// The keys of providers, from variables of this program's environment such as `ANTHROPIC_API_KEY`.
struct Environment;

impl Secrets for Environment {
    fn api_key(&self, name: &str) -> Option<ApiKey> {
        std::env::var(name).ok()?.parse().ok()
    }
}

/// Prints the name of each event as it is recorded.
struct Printer;

impl Observer for Printer {
    fn event(&self, event: &Event) {
        println!("{}", event.name());
    }
}

/// Approves calls about Markdown files. Each other call that waits is denied, with a reason for the model.
struct MarkdownOnly;

#[async_trait]
impl Approver for MarkdownOnly {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)> {
        let path = request.arguments["path"].as_str().unwrap_or_default();
        let decision = if path.ends_with(".md") {
            Decision::Approved
        } else {
            Decision::Denied("only Markdown files are changed here".parse().ok())
        };
        Some((decision, Decider::program("run_with_host")))
    }
}

pub(crate) async fn run([project, user, id]: [&str; 3]) -> Result<RunReport, Failure> {
    let (clock, cancel) = (SystemClock::new(), Cancel::new());
    let spaces = Spaces::new().with_project(project).with_user(user).with_shipped(shipped_files());
    let rye = Rye::open(&Setup::new(spaces, clock.timestamp()))?;

    let key = Path::new(user).join(".ai/config/keys/signing/private_key.pem");
    let key = SigningKey::from_pkcs8_pem(&std::fs::read_to_string(key)?)?;
    let mut host = Host::new(&clock, &cancel);
    host.signing_key = Some(Arc::new(key));
    host.secrets = &Environment;
    host.observer = &Printer;
    host.approver = &MarkdownOnly;

    let mut request = RunRequest::new(id.parse()?, host.new_thread(&id.parse()?)?);
    request.inputs.insert("folder".to_owned(), serde_json::json!("notes"));
    request.provider = ProviderChoice::Steps;
    request.limits.turns = Some(20);
    Ok(rye.run(request, host).await?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [project, user, id] = words.as_slice() else { return Err("three words, please".into()) };
    let report = run([project, user, id]).await?;
    let outputs = serde_json::json!(report.outcome.outputs);
    println!("{} {}: {outputs}", report.thread, report.outcome.state);
    Ok(())
}
