//! Every limit of a thread: who sets it, and what it says when it ends one.

use std::fs;

use serde_json::{Value, json};

use crate::session::Session;

/// A limit, and what each layer says of it: the program, the operator's configuration, a project's that is lower and one
/// that is higher, the directive, and the options of a run, where there is one.
type Row = (&'static str, [&'static str; 5], Option<(&'static str, &'static str)>);

const ROWS: [Row; 6] = [
    ("turns", ["10", "20", "15", "30", "8"], Some(("--turns", "4"))),
    ("tokens", ["200000", "300000", "250000", "400000", "90000"], Some(("--tokens", "50000"))),
    ("spend", ["0.50", "0.60", "0.40", "0.90", "0.30"], Some(("--spend", "0.20"))),
    ("duration_seconds", ["600", "700", "650", "800", "300"], Some(("--duration", "200"))),
    ("spawns", ["10", "20", "15", "30", "8"], Some(("--spawns", "6"))),
    ("depth", ["5", "6", "4", "9", "3"], Some(("--depth", "2"))),
];

/// The place of each layer in a row.
const DEFAULT: usize = 0;
const OPERATOR: usize = 1;
const LOWER: usize = 2;
const HIGHER: usize = 3;
const DIRECTIVE: usize = 4;

fn config(layer: usize) -> String {
    let lines = ROWS.iter().map(|(name, layers, _)| format!("  {name}: \"{}\"\n", layers[layer]));
    let lines: String = lines.collect();
    // Money is a text, and everything else a number.
    let lines = lines.lines().map(|line| match line.trim_start().starts_with("spend") {
        true => format!("{line}\n"),
        false => format!("{}\n", line.replace('"', "")),
    });
    format!("limits:\n{}", lines.collect::<String>())
}

const STEPS: &str = "run notes/index --provider steps --allow-unsigned --trust TRUST";

/// The limits that the thread's record holds.
fn recorded(session: &Session, options: &str) -> Value {
    let run = session.rye(&format!("{STEPS} {options}"));
    assert!(run.ends_with("--- exit 0\n"), "{run}");
    let path = session.project().join(".ai/threads").join(session.thread()).join("thread.json");
    let record: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    record["limits"].clone()
}

/// What a record holds where each limit is the one of this layer.
fn expected(value: impl Fn(&Row) -> &'static str) -> Value {
    let members = ROWS.iter().map(|row| match (row.0, value(row)) {
        ("spend", dollars) => {
            let cents: u64 = dollars.replace('.', "").parse().unwrap();
            ("spend_nanos".to_owned(), json!({ "at_most": cents * 10_000_000 }))
        }
        (name, number) => (name.to_owned(), json!(number.parse::<u64>().unwrap())),
    });
    Value::Object(members.collect())
}

/// The quick start, whose directive says of every limit what the layer says.
fn declaring(session: &Session, layer: usize) {
    let limits = ROWS.iter().map(|(name, layers, _)| format!(" {name}=\"{}\"", layers[layer]));
    let path = ".ai/directives/notes/index.md";
    let text = fs::read_to_string(session.project().join(path)).unwrap();
    let (before, after) = text.split_once("<limits").unwrap();
    let (_, after) = after.split_once("/>").unwrap();
    let (_, before) = before.split_once('\n').unwrap();
    session.put(path, &format!("{before}<limits{}/>{after}", limits.collect::<String>()));
}

/// The quick start without limits of its own.
fn undeclared() -> Session {
    let session = Session::new();
    let path = ".ai/directives/notes/index.md";
    let text = fs::read_to_string(session.project().join(path)).unwrap();
    let (before, after) = text.split_once("<limits").unwrap();
    let (_, after) = after.split_once("/>").unwrap();
    let (_, before) = before.split_once('\n').unwrap();
    session.put(path, &format!("{before}{after}"));
    session
}

fn operator(session: &Session, layer: usize) {
    let folder = session.home().join(".ai/config/agent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("resilience.yaml"), config(layer)).unwrap();
}

fn project(session: &Session, layer: usize) {
    session.put(".ai/config/agent/resilience.yaml", &config(layer));
}

#[test]
fn the_program_has_a_default_for_each() {
    assert_eq!(recorded(&undeclared(), ""), expected(|row| row.1[DEFAULT]));
}

#[test]
fn the_operators_configuration_replaces_the_defaults() {
    let session = undeclared();
    operator(&session, OPERATOR);
    assert_eq!(recorded(&session, ""), expected(|row| row.1[OPERATOR]));
}

#[test]
fn a_projects_configuration_only_lowers() {
    for (layer, holds) in [(LOWER, LOWER), (HIGHER, OPERATOR)] {
        let session = undeclared();
        operator(&session, OPERATOR);
        project(&session, layer);
        assert_eq!(recorded(&session, ""), expected(|row| row.1[holds]));
    }
}

#[test]
fn a_directive_goes_before_configuration() {
    let session = Session::new();
    operator(&session, OPERATOR);
    declaring(&session, DIRECTIVE);
    assert_eq!(recorded(&session, ""), expected(|row| row.1[DIRECTIVE]));
}

#[test]
fn options_go_before_all() {
    let session = Session::new();
    operator(&session, OPERATOR);
    declaring(&session, DIRECTIVE);
    let options = ROWS.iter().filter_map(|row| row.2);
    let options: Vec<String> = options.map(|(name, value)| format!("{name} {value}")).collect();
    let given = expected(|row| row.2.map_or(row.1[DIRECTIVE], |(_, value)| value));
    assert_eq!(recorded(&session, &options.join(" ")), given);
}

/// Each limit that ends a thread: the option, and what is said.
#[test]
fn a_limit_that_is_reached_ends_the_thread() {
    for (options, said) in [
        ("--turns 2", "limit `turns` reached: 2 of 2"),
        ("--tokens 0", "limit `tokens` reached: 0 of 0"),
        ("--duration 0", "limit `duration_seconds` reached: 0 of 0"),
    ] {
        let session = Session::new();
        let run = session.rye(&format!("{STEPS} {options}"));
        let is_told = run.contains(&format!("error: {said}\n"));
        assert!(is_told && run.ends_with("--- exit 5\n"), "{run}");
        let shown = session.rye("threads show");
        assert!(shown.contains("state      error\n"), "{shown}");
        assert!(shown.contains(&format!("failure    {said}\n")), "{shown}");
    }
}

#[test]
fn a_thread_needs_a_turn() {
    let session = Session::new();
    for (line, said) in [
        (format!("{STEPS} --turns 0"), "at least 1 is needed"),
        ("resume --last --turns 0".to_owned(), "at least 1 is needed"),
        (format!("{STEPS} --turns x"), "invalid digit found in string"),
    ] {
        let told = session.rye(&line);
        assert!(told.contains(&format!(" for '--turns <N>': {said}\n")), "{told}");
        assert!(told.ends_with("--- exit 2\n"), "{told}");
    }
    assert!(!session.project().join(".ai/threads").exists());
}

/// The money does not suffice for a first request, which is therefore not sent.
#[test]
fn money_ends_a_thread_before_its_request() {
    let session = Session::new();
    session.put(
        ".ai/tools/rye/agent/providers/dear.yaml",
        "protocol: anthropic_messages\nbase_url: http://127.0.0.1:1\ntiers: {fast: m}\nmodels:\n  m:\n    context_window: 100000\n    \
         max_output: 2000\n    prices: {input: \"1\", output: \"1\"}\n",
    );
    let arguments = "run notes/index --provider dear --allow-unsigned --trust TRUST --spend 0.001";
    let run = session.rye(arguments);
    assert!(
        run.contains("error: limit `spend` reached: the next request may bring the cost to "),
        "{run}"
    );
    assert!(run.contains(" of 0.001 USD\n") && run.ends_with("--- exit 5\n"), "{run}");
}

/// A server that never answers: the time runs out during the request, which is the commonest end by a limit.
#[test]
fn a_limit_that_ends_a_request_says_who_set_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let session = Session::new();
    session.put(
        ".ai/tools/rye/agent/providers/silent.yaml",
        &format!(
            "protocol: anthropic_messages\nbase_url: http://{}\ntiers: {{fast: m}}\nmodels:\n  m:\n    context_window: 100000\n    \
             max_output: 100\n    prices: {{input: \"1\", output: \"1\"}}\n",
            listener.local_addr().unwrap()
        ),
    );
    let arguments = "run notes/index --provider silent --allow-unsigned --trust TRUST --duration 1";
    let run = session.rye(arguments);
    assert!(run.contains("error: limit `duration_seconds` reached: "), "{run}");
    assert!(run.contains(" counts as spent"), "{run}");
    assert!(run.contains("`duration_seconds` is set by the options of this run\n"), "{run}");
    assert!(run.contains(" --duration 2`\n") && run.ends_with("--- exit 5\n"), "{run}");
}
