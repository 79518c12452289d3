//! Small runs of the harness with its own server.

use rye_bench_harness::{Api, Arguments, Server, measure};
use serde_json::Value;

/// Runs three turns in two threads at once, measured once after the first conversation.
#[track_caller]
fn check(api: Api, stream: bool) {
    let server = Server::start(3).expect("because a loopback port is free");
    let mut arguments = Arguments::new(&server.url(), api);
    (arguments.turns, arguments.threads, arguments.warmup) = (3, 2, 0);
    arguments.stream = stream;
    let figures = measure(&arguments).expect("because a temporary folder can be made");
    assert_eq!((figures.errors, &figures.first_error), (0, &None));
    assert_eq!(figures.calls, 8, "two conversations of three turns and a last request");
    assert_eq!(server.answered(), 12, "and one conversation before them");
    let line = figures.to_json();
    for name in ["wall_s", "cpu_s", "per_call_wall_us", "per_call_cpu_us", "first_s"] {
        assert!(line[name].as_f64().is_some_and(|number| 0.0 < number), "{name}: {line}");
    }
    assert_eq!(line["errors"], Value::from(0));
    assert!(line["versions"]["rye"].is_string(), "{line}");
}

#[test]
fn openai() {
    check(Api::OpenAi, false);
}

#[test]
fn openai_streamed() {
    check(Api::OpenAi, true);
}

#[test]
fn anthropic() {
    check(Api::Anthropic, false);
}

#[test]
fn anthropic_streamed() {
    check(Api::Anthropic, true);
}

#[test]
fn responses() {
    check(Api::Responses, false);
}

#[test]
fn responses_streamed() {
    check(Api::Responses, true);
}

/// Many conversations need more open files than the default limit of a shell.
#[cfg(unix)]
#[test]
fn many_conversations_have_enough_files() {
    let server = Server::start(2).expect("because a loopback port is free");
    let line = format!(
        "ulimit -Sn 64 && exec '{}' --url {} --api openai --turns 2 --threads 200 --warmup 0",
        env!("CARGO_BIN_EXE_rye-bench-harness"),
        server.url(),
    );
    let output = shell(&line);
    let text = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{problem}");
    assert!(text.contains(r#""errors":0,"#), "{text}{problem}");
}

#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a limit is set in a program of its own")]
fn shell(line: &str) -> std::process::Output {
    std::process::Command::new("sh").args(["-c", line]).output().expect("because there is a shell")
}

/// A server that asks for fewer calls than expected.
#[test]
fn what_goes_wrong_is_counted_and_told() {
    let server = Server::start(2).expect("because a loopback port is free");
    let mut arguments = Arguments::new(&server.url(), Api::Anthropic);
    (arguments.turns, arguments.warmup, arguments.reps) = (3, 1, 2);
    let figures = measure(&arguments).expect("because a temporary folder can be made");
    let said = "a conversation made 3 requests instead of 4";
    assert_eq!((figures.errors, figures.first_error.as_deref()), (4, Some(said)));
}

#[test]
fn the_command_line() {
    let parse = |line: &str| Arguments::parse(line.split_whitespace().map(str::to_owned));
    let line =
        "--url http://h/v1 --api responses --turns 7 --threads 8 --reps 9 --warmup 0 --stream 1";
    let given = parse(line).expect("because it is right").expect("because it asks for no help");
    assert_eq!(
        (given.url.as_str(), given.api, given.stream),
        ("http://h/v1", Api::Responses, true)
    );
    assert_eq!((given.turns, given.threads, given.reps, given.warmup), (7, 8, 9, 0));
    assert!(parse("--help").is_ok_and(|given| given.is_none()));
    for (line, problem) in [
        ("--api openai", "which server? give `--url`"),
        ("--url u", "which format? give `--api`"),
        ("--url u --api gemini", "`gemini` is no API; use openai, anthropic or responses"),
        ("--url u --api openai --reps 0", "`--reps` is at least 1"),
        ("--url u --api openai --turns x", "`--turns` takes a number"),
        ("--url u --api openai --stream yes", "`--stream` is 0 or 1"),
        ("--url u --api openai --fast 1", "there is no option `--fast`; see `--help`"),
        ("--url", "`--url` needs a value"),
    ] {
        assert_eq!(parse(line).err().as_deref(), Some(problem), "{line}");
    }
}
