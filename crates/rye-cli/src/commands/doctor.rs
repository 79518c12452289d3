//! `rye doctor`.

mod examine;
mod places;

use clap::Args;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Answer;

/// Look at what a run needs here, and say what to do about what is missing
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is sent, changed or made. Exits with 1 when something stands in the way of every run; what only some \
                  runs need is a note.\n\n\
                  Examples:\n  rye doctor\n  rye doctor --json"
)]
pub(crate) struct Arguments {}

/// The result of a check.
pub(crate) struct Finding {
    /// The area, such as `keys`.
    area: &'static str,
    standing: Standing,
    text: String,
    /// Advice, if there is something to do.
    advice: Option<String>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Correct.
    Fine,
    /// Needed for some runs only.
    Noted,
    /// A problem for every run.
    Wrong,
}

impl Standing {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Noted => "note",
            Self::Wrong => "wrong",
        }
    }
}

impl Finding {
    fn fine(area: &'static str, text: String) -> Self {
        Self { area, standing: Standing::Fine, text, advice: None }
    }

    fn note(area: &'static str, text: String, advice: &str) -> Self {
        let advice = Some(advice.to_owned());
        Self { area, standing: Standing::Noted, text, advice }
    }

    fn wrong(area: &'static str, text: String, advice: &str) -> Self {
        Self { standing: Standing::Wrong, ..Self::note(area, text, advice) }
    }

    fn print(&self) {
        println!("{:<5}  {:<9}  {}", self.standing.as_str(), self.area, self.text);
        if let Some(advice) = &self.advice {
            println!("{:<5}  {:<9}  to do: {advice}", "", "");
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "area": self.area,
            "standing": self.standing.as_str(),
            "text": self.text,
            "advice": self.advice,
        })
    }
}

pub(crate) fn run(_: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let findings = examine::all(environment);
    let is_wrong = findings.iter().any(|finding| finding.standing == Standing::Wrong);
    if environment.json() {
        let answer = Answer::of("findings", findings.iter().map(Finding::to_json));
        answer.fine_if(!is_wrong).with("version", env!("CARGO_PKG_VERSION")).print();
    } else {
        findings.iter().for_each(Finding::print);
    }
    Ok(if is_wrong { Exit::Failed } else { Exit::Fine })
}

/// Returns a failure on one line.
fn sentence(failure: &Failure) -> String {
    failure.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
