//! The part of transcripts that models see.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Returns all that a model saw or said in the threads of a project, with names in place of the threads' ids and of the folder.
pub fn visible(project: &Path) -> Vec<String> {
    const EVENTS: [&str; 7] = [
        "context_injected",
        "step_finish",
        "system_prompt",
        "thread_complete",
        "tool_call_result",
        "tool_call_start",
        "user_message",
    ];
    let mut threads: Vec<String> = fs::read_dir(project.join(".ai/threads"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| project.join(".ai/threads").join(name).is_dir() && name != "requests")
        .collect();
    threads.sort();
    let mut found = Vec::new();
    for thread in &threads {
        let path = project.join(".ai/threads").join(thread).join("transcript.jsonl");
        for line in fs::read_to_string(path).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let event = record["event"].as_str().unwrap();
            if !EVENTS.contains(&event) {
                continue;
            }
            let mut text = format!("{event} {}", record["payload"]);
            for (number, thread) in threads.iter().enumerate() {
                text = text.replace(thread, &format!("THREAD-{number}"));
            }
            found.push(text.replace(project.to_str().unwrap(), "PROJECT"));
        }
    }
    found
}
