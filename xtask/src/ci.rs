//! `cargo xtask ci`: runs all checks, the cheapest first.

mod test_step;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    codegen, e2e, fixtures,
    fuzz::{self, Request},
    generated::Mode,
    mcp, packages, process, sdk, tidy, transcript,
};
use anyhow::anyhow;

/// The package of `cargo deny`, which the steps need besides cargo.
const CARGO_DENY: &str = "cargo-deny@0.20.2";

const STEPS: &[Step] = &[
    Step { name: "fmt", action: Action::Command(&[], "cargo fmt --all --check") },
    Step { name: "tidy", action: Action::Own(tidy::run) },
    Step { name: "codegen", action: Action::Own(|root| codegen::run(root, Mode::Check)) },
    Step { name: "fixtures", action: Action::Own(|root| fixtures::run(root, Mode::Check)) },
    Step {
        name: "tools",
        action: Action::Own(|root| packages::cargo(root, "cargo deny", CARGO_DENY)),
    },
    Step {
        name: "clippy",
        action: Action::Command(&[], "cargo clippy --workspace --all-targets -- -D warnings"),
    },
    Step { name: "test", action: Action::Own(test_step::run) },
    Step {
        name: "doors",
        // The whole workspace, because another choice of packages has other features and builds them again.
        action: Action::Command(&[("CI", "1")], "cargo test --workspace --test doors -- --ignored"),
    },
    // After the tests, which have built most of its dependencies.
    Step {
        name: "features",
        action: Action::Command(
            &[],
            "cargo clippy --workspace --features rye-cli/otel --all-targets -- -D warnings",
        ),
    },
    Step {
        name: "doc",
        action: Action::Command(
            &[("RUSTDOCFLAGS", "-D warnings")],
            "cargo doc --workspace --no-deps",
        ),
    },
    Step { name: "workflows", action: Action::Own(e2e::workflows::run) },
    Step { name: "sdk", action: Action::Own(sdk::run) },
    Step { name: "transcript", action: Action::Own(transcript::run) },
    Step { name: "exported", action: Action::Own(e2e::exported::run) },
    Step { name: "exports", action: Action::Own(e2e::exports::run) },
    Step { name: "view", action: Action::Own(e2e::view::run_if_possible) },
    Step { name: "restate", action: Action::Own(e2e::restate::run_if_possible) },
    Step { name: "mcp", action: Action::Own(mcp::run) },
    Step {
        name: "deny",
        action: Action::Command(
            &[],
            "cargo deny check --hide-inclusion-graph bans licenses sources",
        ),
    },
    // Just long enough to build and call every target.
    Step { name: "fuzz", action: Action::Own(|root| fuzz::run(root, &Request::short())) },
];

struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    /// Environment and command line.
    Command(&'static [(&'static str, &'static str)], &'static str),
    /// A task of this program.
    Own(fn(&Path) -> anyhow::Result<()>),
}

/// Runs the steps until one fails, and prints the time of each.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut times = Vec::new();
    let mut result = Ok(());
    for step in STEPS {
        println!("\n== {}", step.name);
        let start = Instant::now();
        result =
            perform(root, &step.action).map_err(|error| anyhow!("step `{}` {error:#}", step.name));
        times.push((step.name, start.elapsed()));
        println!("== {} took {:.1} s", step.name, start.elapsed().as_secs_f64());
        if result.is_err() {
            break;
        }
    }
    print!("{}", table(&times));
    result
}

fn perform(root: &Path, action: &Action) -> anyhow::Result<()> {
    match action {
        Action::Command(environment, line) => process::run(root, environment, line),
        Action::Own(task) => task(root).map_err(|error| anyhow!("failed:\n{error:#}")),
    }
}

fn table(times: &[(&str, Duration)]) -> String {
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    let rows = times.iter().copied().chain([("total", total)]);
    let rows: String =
        rows.map(|(name, time)| format!("  {name:<10}{:>8.1} s\n", time.as_secs_f64())).collect();
    format!("\n{rows}")
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::{Action, perform, table};

    #[test]
    fn the_table_ends_with_the_sum() {
        let times = [("fmt", Duration::from_millis(1500)), ("clippy", Duration::from_secs(100))];
        assert_eq!(
            table(&times),
            "\n  fmt            1.5 s\n  clippy       100.0 s\n  total        101.5 s\n"
        );
    }

    #[test]
    fn a_failed_command_is_named_with_its_environment() {
        let action = Action::Command(&[("CI", "1")], "cargo no-such-command");
        let error = perform(Path::new("."), &action).expect_err("cargo has no such command");
        assert!(
            error
                .to_string()
                .ends_with("to see it alone, run\n\n    CI='1' cargo no-such-command\n"),
            "{error}"
        );
    }
}
