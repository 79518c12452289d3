//! The threads that run both on one machine and on the engine: their directives and the scripts of their models.

use serde_json::{Value, json};

/// The answer of a model to one request.
pub enum Answer {
    /// A text.
    Says(&'static str),
    /// Calls of tools.
    Calls(Vec<(&'static str, Value)>),
    /// A status of HTTP for the first request, and an answer for the one that follows.
    Fails(u16, Box<Answer>),
    /// An answer of so many tokens.
    Fills(u64, Box<Answer>),
}

/// A thread: its directive, the answers of its model, and the commands that it is started and decided about with.
pub struct Row {
    /// The last part of the directive's id, and the name of the model's script.
    pub name: &'static str,
    /// The elements of `<metadata>` behind the description.
    pub metadata: &'static str,
    /// The elements behind `<inputs>`.
    pub outputs: &'static str,
    /// The body below the line that names the script.
    pub body: &'static str,
    /// Options of `rye run` instead of the scripted provider.
    pub options: &'static [&'static str],
    pub answers: Vec<Answer>,
    /// The commands about the calls that wait, one after the other.
    pub decisions: &'static [&'static str],
    /// The exit code of `rye run`.
    pub exit: i32,
    /// The state in the end.
    pub state: &'static str,
}

/// Everything that a row may call.
const ALL: &str = "<permissions><execute><tool>rye.bash.bash</tool><tool>rye.file-system.*</tool><tool>rye.agent.threads.*</tool>\
    <directive>suite.*</directive><knowledge>suite.*</knowledge></execute><search>*</search><load>*</load>\
    <acknowledge risk=\"elevated\">the rows use the shell</acknowledge></permissions>";

impl Default for Row {
    fn default() -> Self {
        Self {
            name: "",
            metadata: "",
            outputs: "",
            body: "",
            options: &["--provider", "scripted"],
            answers: Vec::new(),
            decisions: &[],
            exit: 0,
            state: "completed",
        }
    }
}

impl Row {
    /// Returns the text of the directive. One of a name with a dash belongs to the row that is named before it.
    pub fn directive(&self) -> String {
        let Self { name, metadata, outputs, body, .. } = self;
        let permissions = if metadata.contains("<permissions>") { "" } else { ALL };
        let limits = if metadata.contains("<limits") {
            ""
        } else {
            "<limits turns=\"12\" tokens=\"100000\" spend=\"1.00\" spawns=\"4\" depth=\"2\" />"
        };
        format!(
            "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n<metadata><description>A row.</description>\
             <category>suite</category><author>example</author>{limits}{permissions}{metadata}</metadata>\n<inputs><input name=\"run\" \
             type=\"string\" default=\"none\">The run</input></inputs>\n{outputs}\n</directive>\n```\n\nScript {name} of {{input:run}}.\n\n{body}\n"
        )
    }
}

const NUMBER: &str =
    "<outputs><output name=\"n\" type=\"integer\" required=\"true\">A number</output></outputs>";

fn call(name: &'static str, arguments: Value) -> Answer {
    Answer::Calls(vec![(name, arguments)])
}

fn bash(command: &str) -> Answer {
    call("rye_bash_bash", json!({"command": command}))
}

fn edit() -> Answer {
    let edits = json!([{"old": "one", "new": "two"}]);
    call("rye_file_system_edit", json!({"path": "notes.txt", "edits": edits}))
}

fn returns(outputs: Value) -> Answer {
    call("rye_agent_threads_directive_return", outputs)
}

fn child(name: &str) -> Answer {
    let arguments = json!({"directive": format!("suite/{name}"), "inputs": {"run": "child"}});
    call("rye_agent_threads_thread_directive", arguments)
}

fn child_beside(name: &str) -> (&'static str, Value) {
    let limits = json!({"spend": "0.10"});
    let arguments = json!({
        "directive": format!("suite/{name}"), "inputs": {"run": "child"}, "async": true, "limits": limits,
    });
    ("rye_agent_threads_thread_directive", arguments)
}

pub fn rows() -> Vec<Row> {
    let rows = [
        tools(),
        decisions(),
        ends(),
        limits(),
        hooks(),
        children(),
        children_beside(),
        models(),
        items(),
    ];
    rows.into_iter().flatten().collect()
}

/// Tools of each effect, side by side and in order, that succeed, fail and are refused.
fn tools() -> Vec<Row> {
    let read = |path: &str| ("rye_file_system_read", json!({"path": path}));
    vec![
        Row {
            name: "reads",
            answers: vec![
                Answer::Calls(vec![
                    read("notes.txt"),
                    ("rye_file_system_ls", json!({"path": "."})),
                    ("rye_file_system_grep", json!({"pattern": "one"})),
                ]),
                Answer::Says("Read."),
            ],
            ..Row::default()
        },
        Row {
            name: "writes",
            answers: vec![
                Answer::Calls(vec![
                    ("rye_file_system_write", json!({"path": "a.txt", "content": "a\n"})),
                    ("rye_bash_bash", json!({"command": "cat a.txt >> b.txt"})),
                    read("b.txt"),
                ]),
                bash("cat a.txt >> b.txt"),
                Answer::Says("Written."),
            ],
            ..Row::default()
        },
        Row {
            name: "fails",
            answers: vec![
                Answer::Calls(vec![read("none.txt"), read("../none.txt")]),
                call("rye_file_system_read", json!({"file": 1})),
                call("no_such_tool", json!({})),
                bash("echo before; exit 3"),
                Answer::Says("Failed."),
            ],
            ..Row::default()
        },
        Row {
            name: "denies",
            metadata: "<permissions><execute><tool>rye.file-system.read</tool></execute></permissions>",
            answers: vec![
                bash("echo no >> b.txt"),
                call(
                    "rye_execute",
                    json!({"item_type": "tool", "item_id": "rye/bash/bash", "parameters": {"command": "ls"}}),
                ),
                Answer::Says("Refused."),
            ],
            ..Row::default()
        },
    ]
}

/// Calls that wait for a decision.
fn decisions() -> Vec<Row> {
    vec![
        Row {
            name: "approved",
            answers: vec![edit(), bash("cat notes.txt"), Answer::Says("Edited.")],
            decisions: &["approve"],
            exit: 4,
            ..Row::default()
        },
        Row {
            name: "denied",
            answers: vec![edit(), edit(), Answer::Says("Left alone.")],
            decisions: &["deny", "deny"],
            exit: 4,
            ..Row::default()
        },
        Row {
            name: "cancelled",
            answers: vec![bash("echo once >> b.txt"), edit()],
            decisions: &["cancel"],
            exit: 4,
            state: "cancelled",
            ..Row::default()
        },
    ]
}

/// Outputs, and the end of a thread without them.
fn ends() -> Vec<Row> {
    vec![
        Row {
            name: "outputs",
            outputs: NUMBER,
            answers: vec![
                returns(json!({"n": "many"})),
                returns(json!({"m": 1})),
                returns(json!({"n": 3})),
            ],
            ..Row::default()
        },
        Row {
            name: "no_outputs",
            outputs: NUMBER,
            answers: vec![Answer::Says("No."), Answer::Says("Never.")],
            exit: 1,
            state: "error",
            ..Row::default()
        },
    ]
}

/// Limits that end a thread.
fn limits() -> Vec<Row> {
    let step = || bash("echo again >> b.txt");
    vec![
        Row {
            name: "turns",
            metadata: "<limits turns=\"2\" tokens=\"100000\" spend=\"1.00\" />",
            answers: vec![step(), step(), step()],
            exit: 5,
            state: "error",
            ..Row::default()
        },
        Row {
            name: "tokens",
            metadata: "<limits turns=\"9\" tokens=\"250\" spend=\"1.00\" />",
            answers: vec![step(), step(), step(), step()],
            exit: 5,
            state: "error",
            ..Row::default()
        },
        Row {
            name: "spend",
            metadata: "<limits turns=\"40\" tokens=\"100000\" spend=\"0.0170\" />",
            answers: (0..20).map(|_| step()).collect(),
            exit: 5,
            state: "error",
            ..Row::default()
        },
        Row {
            name: "no_money",
            options: &["--provider", "scripted", "--spend", "0.000001"],
            answers: vec![Answer::Says("Never asked.")],
            exit: 5,
            state: "error",
            ..Row::default()
        },
    ]
}

/// Hooks that add, call tools, and decide.
fn hooks() -> Vec<Row> {
    vec![
        Row {
            name: "hooks",
            outputs: NUMBER,
            metadata: "<hooks>\
                <hook id=\"style\" event=\"thread_started\"><load item_type=\"knowledge\">suite/style</load></hook>\
                <hook id=\"step\" event=\"after_step\"><execute item_type=\"tool\">rye/bash/bash</execute><inputs><command>echo step >> b.txt</command></inputs></hook>\
                <hook id=\"again\" event=\"directive_return\" effect=\"retry\"><when>outputs.n lt 3</when></hook>\
                <hook id=\"end\" event=\"after_complete\"><execute item_type=\"tool\">rye/bash/bash</execute><inputs><command>echo ${state} >> b.txt</command></inputs></hook>\
                </hooks>",
            answers: vec![
                bash("echo turn >> b.txt"),
                returns(json!({"n": 2})),
                returns(json!({"n": 3})),
            ],
            ..Row::default()
        },
        Row {
            name: "aborts",
            metadata: "<hooks><hook id=\"stop\" event=\"after_step\" effect=\"abort\"><when>cost.turns gte 2</when></hook></hooks>",
            answers: vec![bash("echo 1 >> b.txt"), bash("echo 2 >> b.txt"), Answer::Says("Never.")],
            exit: 1,
            state: "cancelled",
            ..Row::default()
        },
        Row {
            name: "raises",
            metadata: "<limits turns=\"2\" tokens=\"100000\" spend=\"1.00\" />\
                <hooks><hook id=\"raise\" event=\"limit\" effect=\"escalate\"><when>limit.name eq \"turns\"</when></hook></hooks>",
            answers: vec![
                bash("echo 1 >> b.txt"),
                bash("echo 2 >> b.txt"),
                bash("echo 3 >> b.txt"),
                Answer::Says("Done."),
            ],
            decisions: &["approve"],
            exit: 4,
            ..Row::default()
        },
        Row {
            name: "not_raised",
            metadata: "<limits turns=\"1\" tokens=\"100000\" spend=\"1.00\" />\
                <hooks><hook id=\"raise\" event=\"limit\" effect=\"escalate\"><when>limit.name eq \"turns\"</when></hook></hooks>",
            answers: vec![bash("echo 1 >> b.txt"), Answer::Says("Never.")],
            decisions: &["deny"],
            exit: 4,
            state: "error",
            ..Row::default()
        },
    ]
}

/// Children that run beside their parents.
fn children_beside() -> Vec<Row> {
    let wait = || call("rye_agent_threads_wait", json!({}));
    vec![
        Row {
            name: "beside",
            answers: vec![
                Answer::Calls(vec![child_beside("quiet")]),
                wait(),
                Answer::Calls(vec![child_beside("quiet")]),
                Answer::Says("Not waited for."),
            ],
            ..Row::default()
        },
        Row {
            name: "pair",
            answers: vec![
                Answer::Calls(vec![child_beside("busy"), child_beside("busy")]),
                bash("echo pair >> a.txt"),
                wait(),
                Answer::Says("Both are done."),
            ],
            ..Row::default()
        },
        Row {
            name: "busy",
            metadata: "<limits turns=\"50\" tokens=\"100000\" spend=\"1.00\" />",
            answers: (0..40)
                .map(|_| bash("echo busy >> b.txt"))
                .chain([Answer::Says("Busy.")])
                .collect(),
            ..Row::default()
        },
        Row {
            name: "asks_beside",
            answers: vec![
                Answer::Calls(vec![child_beside("approved")]),
                bash("echo 1 >> b.txt"),
                wait(),
                Answer::Says("It was approved meanwhile."),
            ],
            decisions: &["approve"],
            exit: 4,
            ..Row::default()
        },
        Row { name: "quiet", answers: vec![Answer::Says("Quiet.")], ..Row::default() },
    ]
}

/// Children that are waited for, and that cannot start or end well.
fn children() -> Vec<Row> {
    let fork = json!({
        "item_type": "directive", "item_id": "suite/leaf", "thread": "fork", "parameters": {"run": "child"},
    });
    vec![
        Row {
            name: "leaf",
            answers: vec![bash("echo leaf >> b.txt"), Answer::Says("Leaf.")],
            ..Row::default()
        },
        Row {
            name: "middle",
            answers: vec![child("leaf"), Answer::Says("Middle.")],
            ..Row::default()
        },
        Row {
            name: "parent",
            answers: vec![child("middle"), child("leaf"), Answer::Says("Parent.")],
            ..Row::default()
        },
        Row {
            name: "forks",
            answers: vec![call("rye_execute", fork), Answer::Says("Forked.")],
            ..Row::default()
        },
        Row {
            name: "lost",
            answers: vec![child("none"), child("unready"), Answer::Says("No child.")],
            ..Row::default()
        },
        Row {
            name: "unready",
            metadata: "<model tier=\"none\" />",
            answers: vec![Answer::Says("Never asked.")],
            exit: 1,
            state: "error",
            ..Row::default()
        },
        Row {
            name: "poor_child",
            answers: vec![child("turns"), Answer::Says("It reached a limit.")],
            ..Row::default()
        },
        Row {
            name: "barren",
            metadata: "<limits turns=\"9\" tokens=\"100000\" spend=\"1.00\" spawns=\"1\" depth=\"1\" />",
            answers: vec![child("middle"), child("leaf"), Answer::Says("One child.")],
            ..Row::default()
        },
        Row {
            name: "waits",
            answers: vec![child("approved"), Answer::Says("It was approved.")],
            decisions: &["approve"],
            exit: 4,
            ..Row::default()
        },
    ]
}

/// Requests that fail, models that are missing, and conversations that become too long.
fn models() -> Vec<Row> {
    let fails = |status, answer| Answer::Fails(status, Box::new(answer));
    vec![
        Row {
            name: "retries",
            answers: vec![
                fails(503, bash("echo 1 >> b.txt")),
                fails(429, bash("echo 2 >> b.txt")),
                Answer::Says("Done."),
            ],
            ..Row::default()
        },
        Row {
            name: "unauthorized",
            answers: vec![fails(401, Answer::Says("Never."))],
            exit: 1,
            state: "error",
            ..Row::default()
        },
        Row {
            name: "invalid",
            answers: vec![bash("echo 1 >> b.txt"), fails(400, Answer::Says("Never."))],
            exit: 1,
            state: "error",
            ..Row::default()
        },
        Row {
            name: "falls_back",
            metadata: "<model tier=\"high\" fallback=\"general\" />",
            answers: vec![bash("echo 1 >> b.txt"), Answer::Says("Done.")],
            ..Row::default()
        },
        Row {
            name: "continues",
            metadata: "<model tier=\"low\" /><continuation_directive>suite/continued</continuation_directive>",
            answers: vec![
                bash("echo 1 >> b.txt"),
                Answer::Fills(1_000, Box::new(bash("echo 2 >> b.txt"))),
            ],
            ..Row::default()
        },
        Row {
            name: "continued",
            answers: vec![bash("echo 3 >> b.txt"), Answer::Says("Went on.")],
            ..Row::default()
        },
    ]
}

/// Items that a call returns into the thread, searches, and the provider that needs no model.
fn items() -> Vec<Row> {
    let item = |kind: &str, id: &str, parameters: Value| json!({"item_type": kind, "item_id": id, "parameters": parameters});
    vec![
        Row {
            name: "inline",
            answers: vec![
                call("rye_execute", item("directive", "suite/leaf", json!({"run": "inline"}))),
                call("rye_execute", item("knowledge", "suite/style", json!({}))),
                call("rye_execute", item("directive", "suite/none", json!({}))),
                bash("echo inline >> b.txt"),
                Answer::Says("Followed."),
            ],
            ..Row::default()
        },
        Row {
            name: "looks",
            answers: vec![
                call("rye_search", json!({"item_type": "knowledge", "query": "style"})),
                call("rye_load", json!({"item_type": "knowledge", "item_id": "suite/style"})),
                Answer::Says("Found."),
            ],
            ..Row::default()
        },
        Row {
            name: "steps",
            body: "<process><step name=\"one\"><description>Write.</description><execute item_type=\"tool\" \
                item_id=\"rye/bash/bash\"><param name=\"command\">echo {input:run} >> b.txt</param></execute></step>\
                <step name=\"two\"><description>Follow.</description><execute item_type=\"directive\" item_id=\"suite/leaf\">\
                <param name=\"run\">inline</param></execute></step></process>",
            options: &["--provider", "steps"],
            ..Row::default()
        },
    ]
}
