//! `cargo xtask e2e exports`: reads exported threads with the packages of others.
//!
//! Ten and more threads run with scripted models on this machine, over four protocols: with tools, children, approvals, errors and
//! reasoning. Each is exported. The package `atif` validates the trajectories, and `securesystemslib` with `in-toto-attestation` the
//! receipts. It needs `node` on the path, and installs the Python packages once.

use std::{fs, path::Path};

use super::view::{Project, serve_model};
use crate::{
    files::text,
    packages,
    process::{self, Rye},
};
use anyhow::Context as _;

const FOLDER: &str = "target/xtask/exports";
const SOURCES: &str = "xtask/src/e2e/exports";
const PACKAGES: &str =
    "atif==1.8.0 securesystemslib==1.6.0 in-toto-attestation==0.9.3 cryptography==50.0.2";

/// The protocols, whose names the providers have too.
const PROTOCOLS: [&str; 4] = ["anthropic_messages", "gemini", "openai_chat", "openai_responses"];

/// Runs the threads, exports them, and reads the exports.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let python = packages::python(root, "exports-python", PACKAGES)?;
    let rye = Rye::build(root)?;
    let folder = root.join(FOLDER);
    let project = Project::new(&folder, &rye);
    let scripted = project.prepare(root)?;
    project.run_patch()?;
    project.run_release()?;
    project.run_hostile()?;
    project.run_until_it_waits()?;
    drop(scripted);
    run_protocols(root, &project)?;
    let files = folder.join("files");
    drop(fs::remove_dir_all(&files));
    fs::create_dir_all(&files).context("no folder for exports")?;
    let receipts = export_all(&project, &files)?;
    let python = text(&python);
    let script = |name: &str| format!("{python} {SOURCES}/{name}");
    process::run(root, &[], &format!("{} {}", script("trajectories.py"), text(&files)))?;
    let key = text(project.public_key());
    for thread in receipts {
        let file = |kind: &str| text(files.join(format!("{thread}.{kind}")));
        let receipt = file("receipt.json");
        let lines = file("jsonl");
        process::run(root, &[], &format!("{} {receipt} {lines} {key}", script("receipt.py")))?;
    }
    Ok(())
}

/// Runs a thread over each protocol, one that reaches a limit, and one that its provider refuses.
fn run_protocols(root: &Path, project: &Project<'_>) -> anyhow::Result<()> {
    let model = serve_model(root, &format!("node {SOURCES}/model.mjs"))?;
    let base = format!("http://127.0.0.1:{}", model.first);
    for protocol in PROTOCOLS {
        project.put_provider(protocol, &provider(protocol, &base))?;
    }
    project.put_provider("refused", &provider("openai_chat", &format!("{base}/refused")))?;
    project.rye(&["sign", ".ai"], 0)?;
    let run = |more: &[&str], exit: i32| {
        let words = ["run", "release/api-diff", "--quiet", "--provider"];
        project.rye(&[&words[..], more].concat(), exit)
    };
    for protocol in PROTOCOLS {
        run(&[protocol], 0)?;
    }
    run(&["gemini", "--turns", "1"], super::LIMIT)?;
    run(&["refused"], 1)
}

fn provider(protocol: &str, base: &str) -> String {
    format!(
        "protocol: {protocol}\nbase_url: {base}\ntiers: {{ general: scripted-1, fast: scripted-1 }}\nstream: false\n\
         models:\n  scripted-1: {{ context_window: 1000000, max_output: 4000, prices: {{ input: \"3\", output: \"15\" }} }}\n"
    )
}

/// Exports all threads, and returns those that have a receipt.
fn export_all(project: &Project<'_>, files: &Path) -> anyhow::Result<Vec<String>> {
    let mut receipts = Vec::new();
    for (thread, state) in project.threads()? {
        let export = |format: &str, kind: &str| {
            let file = text(files.join(format!("{thread}.{kind}")));
            let words = ["threads", "export", &thread, "--format", format, "--output", &file];
            project.rye(&words, 0)
        };
        export("atif", "atif.json")?;
        if ["completed", "error", "cancelled"].contains(&state.as_str()) {
            export("receipt", "receipt.json")?;
            export("jsonl", "jsonl")?;
            receipts.push(thread.clone());
        }
    }
    Ok(receipts)
}
