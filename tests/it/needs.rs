//! Needs are whole: what the steps, hooks, children and prose of a directive need, told alike by each command (SPEC 9.7).

mod bounds;
mod random;

use rye::caps::Grant;
use rye::{Finding, Privileges, Severity, Use};
use rye_tests::Scratch;
use serde_json::{Value, json};

/// A directive with this metadata and body, and whatever stands between them.
fn directive(name: &str, metadata: &str, rest: &str, body: &str) -> String {
    format!(
        "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n    <description>For a \
         test.</description>\n    <category>test</category>\n    <author>ada</author>\n    {metadata}\n  </metadata>\n  \
         {rest}\n</directive>\n```\n\n{body}\n"
    )
}

fn permissions(elements: &str) -> String {
    format!("<permissions>{elements}</permissions>")
}

/// A body with one step for each call.
fn steps(calls: &[&str]) -> String {
    let step = |(place, call): (usize, &&str)| format!("<step name=\"s{place}\">{call}</step>\n");
    format!("<process>\n{}</process>", calls.iter().enumerate().map(step).collect::<String>())
}

fn call(tool: &str, parameters: &Value) -> String {
    let parameters = parameters.as_object().unwrap().iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("<param name=\"{name}\">{text}</param>")
    });
    format!(
        "<execute item_type=\"tool\" item_id=\"{tool}\">{}</execute>",
        parameters.collect::<String>()
    )
}

const SPAWN: &str = "rye/agent/threads/thread_directive";

/// A call that starts `test/child` with its input.
fn spawn() -> String {
    call(SPAWN, &json!({"directive": "test/child", "inputs": {"file": "a.txt"}}))
}

fn put(scratch: &Scratch, name: &str, text: &str) {
    scratch.sign_unchecked(&format!(".ai/directives/test/{name}.md"), text);
}

/// A project with a child that declares writing, and that has one input.
fn with_child() -> Scratch {
    let scratch = Scratch::new();
    let input =
        "<inputs><input name=\"file\" type=\"string\" required=\"true\">The file</input></inputs>";
    let write = call("rye/file-system/write", &json!({"path": "{input:file}", "content": "x"}));
    let may = permissions("<execute><tool>rye.file-system.write</tool></execute>");
    put(&scratch, "child", &directive("child", &may, input, &steps(&[&write])));
    scratch
}

/// The findings of a check of a directive that are about calls and permissions.
fn findings(scratch: &Scratch, name: &str) -> Vec<Finding> {
    let path = scratch.project().join(format!(".ai/directives/test/{name}.md"));
    let rye = scratch.rye();
    let [checked] = &rye.checker().check_files(&[path])[..] else { panic!("one file") };
    let other = ["missing-metadata", "missing-thread-metadata", "unacknowledged-risk"];
    checked.findings.iter().filter(|it| !other.contains(&it.code)).cloned().collect()
}

fn told(scratch: &Scratch, name: &str) -> Vec<String> {
    let row = |it: &Finding| format!("{} {}: {}", it.severity.as_str(), it.code, it.message);
    findings(scratch, name).iter().map(row).collect()
}

fn privileges(scratch: &Scratch, name: &str) -> Privileges {
    Privileges::of(&scratch.rye(), &format!("test/{name}").parse().unwrap(), &[]).unwrap()
}

/// The patterns that a smaller block keeps, without the beginning that all of them have.
fn tightened(scratch: &Scratch, name: &str) -> Vec<String> {
    let grant: Grant = privileges(scratch, name).tighten().unwrap().grant;
    grant.patterns().iter().map(|it| it.as_str().replace("rye.execute.", "")).collect()
}

const TOOL: &str = "<tool>rye.agent.threads.thread_directive</tool>";
const ID: &str = "<directive>test.child</directive>";
const WRITE: &str = "<tool>rye.file-system.write</tool>";

/// A call that starts a child needs to execute its directive, and the child needs what it declares.
#[test]
fn a_child_is_a_part_of_what_its_parent_needs() {
    let absent = call(SPAWN, &json!({"directive": "test/chidl"}));
    let bare = call(SPAWN, &json!({"directive": "test/child"}));
    let wrong = call(SPAWN, &json!({"directive": "test/child", "inputs": {"fil": "a"}}));
    let rows: [(&str, String, String, &[&str]); 7] = [
        ("whole", format!("{TOOL}{ID}{WRITE}"), spawn(), &[]),
        ("wildcards", "<tool>rye.*</tool><directive>test.*</directive>".to_owned(), spawn(), &[]),
        (
            "no id",
            format!("{TOOL}{WRITE}"),
            spawn(),
            &[
                "error missing-permission: step `s0` needs `rye.execute.directive.test.child`, which `<permissions>` does not grant",
            ],
        ),
        (
            "no capability",
            format!("{TOOL}{ID}"),
            spawn(),
            &[
                "error missing-permission: child `test/child` of step `s0` needs `rye.execute.tool.rye.file-system.write`, which `<permissions>` does not grant",
            ],
        ),
        (
            "no child",
            format!("{TOOL}{ID}{WRITE}"),
            absent,
            &[
                "error unknown-directive: step `s0` names the directive `test/chidl`, which no space has",
            ],
        ),
        (
            "no input",
            format!("{TOOL}{ID}{WRITE}"),
            bare,
            &[
                "error missing-parameter: step `s0`: the call of directive `test/child` lacks `file`",
            ],
        ),
        (
            "a wrong input",
            format!("{TOOL}{ID}{WRITE}"),
            wrong,
            &[
                "error missing-parameter: step `s0`: the call of directive `test/child` lacks `file`",
                "error unknown-parameter: step `s0`: the call of directive `test/child` has `fil`, which is no parameter of it; did you mean `file`?",
            ],
        ),
    ];
    rows.iter()
        .for_each(|(name, grants, call, expected)| check_parent(name, grants, call, expected));
}

#[track_caller]
fn check_parent(name: &str, grants: &str, call: &str, expected: &[&str]) {
    let scratch = with_child();
    let may = permissions(&format!("<execute>{grants}</execute>"));
    put(&scratch, "parent", &directive("parent", &may, "", &steps(&[call])));
    assert_eq!(told(&scratch, "parent"), expected, "{name}");
}

/// A call that forks a directive needs the same of its thread, but for the tool that starts threads.
#[test]
fn a_forked_directive_is_a_part_of_what_is_needed() {
    let forked = "<execute item_type=\"directive\" item_id=\"test/child\" thread=\"fork\"><param name=\"file\">a</param></execute>";
    check_parent("whole", &format!("{ID}{WRITE}"), forked, &[]);
    let expected = "error missing-permission: child `test/child` of step `s0` needs `rye.execute.tool.rye.file-system.write`, which `<permissions>` does not grant";
    check_parent("no capability", ID, forked, &[expected]);
}

/// What is printed as the smaller block runs, and passes the check.
#[tokio::test]
async fn the_smaller_block_of_a_parent_still_runs() {
    let scratch = with_child();
    let may =
        permissions("<execute><tool>rye.*</tool><directive>*</directive></execute><load>*</load>");
    put(&scratch, "parent", &directive("parent", &may, "", &steps(&[&spawn()])));
    let block = privileges(&scratch, "parent").tighten().unwrap().to_string();
    assert_eq!(
        tightened(&scratch, "parent"),
        [
            "directive.test.child",
            "tool.rye.agent.threads.thread_directive",
            "tool.rye.file-system.write"
        ]
    );
    put(&scratch, "parent", &directive("parent", &block, "", &steps(&[&spawn()])));
    assert_eq!(told(&scratch, "parent"), [""; 0]);
    let report = scratch.run("test/parent", &[]).await.unwrap();
    assert_eq!(report.outcome.failure, None);
    assert!(scratch.project().join("a.txt").is_file());
}

/// The steps of a directive that a step executes are carried out in the same thread, with its permissions.
#[test]
fn a_directive_that_is_executed_is_a_part_of_what_is_needed() {
    let list = call("rye/file-system/ls", &json!({"path": "."}));
    let inner = "<execute item_type=\"directive\" item_id=\"test/inner\" />";
    for (grants, expected) in [
        ("<tool>rye.file-system.ls</tool><directive>test.inner</directive>", &[][..]),
        (
            "<directive>test.inner</directive>",
            &[
                "error missing-permission: executed directive `test/inner` of step `s0` needs `rye.execute.tool.rye.file-system.ls`, which `<permissions>` does not grant",
            ],
        ),
    ] {
        let scratch = Scratch::new();
        put(&scratch, "inner", &directive("inner", "", "", &steps(&[&list])));
        let may = permissions(&format!("<execute>{grants}</execute>"));
        put(&scratch, "outer", &directive("outer", &may, "", &steps(&[inner])));
        assert_eq!(told(&scratch, "outer"), expected, "{grants}");
    }
}

/// What a model may need is never unused: not by the check, not by an explanation, not in the smaller block.
#[test]
fn what_a_text_may_need_is_not_unused() {
    let list = call("rye/file-system/ls", &json!({"path": "."}));
    let hook = "<hooks><hook id=\"h\" event=\"after_step\"><action primary=\"execute\" item_type=\"tool\" item_id=\"rye/file-system/ls\">\
                <param name=\"path\" value=\".\" /></action></hook></hooks>";
    let step = |text: &str| format!("<process><step name=\"a\">{list}</step>{text}</process>");
    let section = "## List\n\nRead what you need.\n\n`rye_execute(item_type=\"tool\", item_id=\"rye/file-system/ls\", parameters={\"path\": \".\"})`";
    let open = call(SPAWN, &json!({"directive": "{input:d}"}));
    let input = "<inputs><input name=\"d\" type=\"string\" required=\"true\">What</input></inputs>";
    let rows = [
        ("prose and a hook", hook, "", "Read what you need.".to_owned(), true),
        ("prose and a step", "", "", format!("Read what you need.\n\n{}", step("")), true),
        (
            "a worded step",
            "",
            "",
            step("<step name=\"b\"><description>Read.</description></step>"),
            true,
        ),
        ("a section with text", "", "", section.to_owned(), true),
        ("a child that is an input", "", input, steps(&[&list, &open]), true),
        ("steps alone", "", "", step(""), false),
        (
            "a heading and criteria",
            "",
            "",
            format!(
                "## How\n\n{}\n\n<success_criteria><criterion>It is listed.</criterion></success_criteria>",
                step("")
            ),
            false,
        ),
    ];
    for (name, hooks, rest, body, is_open) in rows {
        let scratch = Scratch::new();
        let may = permissions(&format!(
            "<execute><tool>rye.file-system.ls</tool><tool>rye.file-system.read</tool>{TOOL}<directive>x.*</directive></execute>"
        ));
        put(&scratch, "work", &directive("work", &format!("{may}{hooks}"), rest, &body));
        let unused =
            findings(&scratch, "work").iter().filter(|it| it.code == "unused-grant").count();
        assert_eq!(unused == 0, is_open, "{name}: {:?}", told(&scratch, "work"));
        let privileges = privileges(&scratch, "work");
        let is_unused = privileges.uses.iter().any(|(_, kept)| *kept == Use::Unused);
        assert_eq!(!is_unused, is_open, "{name}: {:?}", privileges.uses);
        assert_eq!(!privileges.to_string().contains("nothing known uses"), is_open, "{name}");
        let read = "tool.rye.file-system.read".to_owned();
        assert_eq!(tightened(&scratch, "work").contains(&read), is_open, "{name}");
    }
}

/// A base is no thread, so that its hooks are judged in each directive that extends it (SPEC D5, D10).
#[test]
fn the_hooks_of_a_base_are_judged_in_each_leaf() {
    let hook = "<hooks><hook id=\"h\" event=\"after_step\"><action primary=\"execute\" item_type=\"tool\" item_id=\"rye/file-system/ls\">\
                <param name=\"path\" value=\".\" /></action></hook></hooks>";
    let scratch = Scratch::new();
    put(&scratch, "base", &directive("base", hook, "", ""));
    let [finding] = &findings(&scratch, "base")[..] else { panic!("{:?}", told(&scratch, "base")) };
    assert_eq!((finding.severity, finding.bars_signing), (Severity::Note, false));
    // It can be signed.
    scratch.sign(".ai/directives/test/base.md", &directive("base", hook, "", ""));
    let denied = "warning missing-permission: hook `h` of directive `test/base` needs `rye.execute.tool.rye.file-system.ls`, which `<permissions>` does not grant";
    for (grant, expected) in [
        ("<tool>rye.file-system.ls</tool>", &[][..]),
        ("<tool>rye.file-system.read</tool>", &[denied]),
    ] {
        let may = permissions(&format!("<execute>{grant}</execute>"));
        let text = directive("leaf", &may, "", "Read what you need.");
        let text = text.replace("name=\"leaf\"", "name=\"leaf\" extends=\"test/base\"");
        put(&scratch, "leaf", &text);
        assert_eq!(told(&scratch, "leaf"), expected, "{grant}");
    }
}

/// A child returns what it declares to return, whatever its parent may call (SPEC 9.2).
#[test]
fn a_child_that_returns_outputs_does_without_nothing() {
    let scratch = with_child();
    let output =
        "<outputs><output name=\"n\" type=\"string\" required=\"true\">It</output></outputs>";
    let may = permissions(&format!("<execute>{WRITE}</execute>"));
    put(&scratch, "child", &directive("child", &may, output, "Write."));
    let may = permissions(&format!("<execute>{TOOL}{ID}{WRITE}</execute>"));
    put(&scratch, "parent", &directive("parent", &may, "", "Start it."));
    let request = rye::PlanRequest::new("test/parent".parse().unwrap());
    let starts = rye::StartFacts::list(&scratch.rye(), &request).unwrap();
    let rows: Vec<_> = starts.iter().map(|it| (it.id.as_str(), it.lost.len())).collect();
    assert_eq!(rows, [("test/child", 0)]);
}

/// The help of a finding, when it is followed, leads to no finding.
#[test]
fn help_about_permissions_works_when_it_is_followed() {
    let list = call("rye/file-system/ls", &json!({"path": "."}));
    for (metadata, call) in [
        (String::new(), list.clone()),
        (permissions("<load><knowledge>*</knowledge></load>"), list),
        (permissions(&format!("<execute>{TOOL}{WRITE}</execute>")), spawn()),
        (permissions(&format!("<execute>{TOOL}{ID}</execute>")), spawn()),
    ] {
        let scratch = with_child();
        let text = directive("work", &metadata, "", &steps(&[&call]));
        put(&scratch, "work", &text);
        let found = findings(&scratch, "work");
        let help = found.iter().find(|it| it.code == "missing-permission").unwrap();
        let help = help.help.clone().unwrap();
        let code = help.split('`').nth(1).unwrap();
        let place = help.split('`').nth(3).unwrap();
        let end = format!("</{}", place.trim_start_matches('<'));
        put(&scratch, "work", &text.replacen(&end, &format!("{code}{end}"), 1));
        let left = findings(&scratch, "work");
        let left: Vec<_> = left.iter().filter(|it| it.severity == Severity::Error).collect();
        assert_eq!(left.len(), 0, "{help}: {left:?}");
    }
}
