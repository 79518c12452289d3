//! The items of the shipped space are complete and valid.

use std::path::Path;

use rye::parse::Input;
use rye::resolve::ItemId;
use rye::types::{ItemKind, ValueType};
use rye::{Explained, Privileges, RenderRequest, Severity, check, shipped_files};
use rye_tests::{Scratch, writing};
use serde_json::Value;

#[test]
fn every_shipped_item_passes_its_check() {
    for file in shipped_files() {
        let path = Path::new(file.path);
        let (folder, rest) = file.path.split_once('/').unwrap();
        let kind = ItemKind::ALL.iter().copied().find(|kind| kind.folder() == folder).unwrap();
        let id: ItemId = rest.rsplit_once('.').unwrap().0.parse().unwrap();
        let checked = check(path, kind, Some(&id), file.text.to_owned());
        // No step uses the grant, because the started directive is an input.
        let is_known =
            |code: &str| file.path.ends_with("/spawn_thread.md") && code == "unused-grant";
        let heavy = checked.findings.iter();
        let heavy = heavy.filter(|it| it.severity > Severity::Note && !is_known(it.code));
        assert_eq!(heavy.count(), 0, "{}: {:?}", file.path, checked.findings);
    }
}

#[test]
fn the_core_knowledge_is_there() {
    let rye = Scratch::new().rye();
    for name in ["Identity", "Behavior", "Environment", "DirectiveInstruction"] {
        let item =
            rye.library().knowledge(&format!("rye/agent/core/{name}").parse().unwrap()).unwrap();
        assert_eq!(item.content.value().name.as_deref(), Some(name));
        assert!(!item.content.value().body.value.trim().is_empty());
    }
}

/// What the founding documents name is there, is verified as part of the program, and says something.
#[test]
fn what_the_founding_documents_name_is_shipped() {
    let rye = Scratch::new().rye();
    let directives = [
        "rye/agent/core/base",
        "rye/agent/core/coder",
        "rye/core/create_directive",
        "rye/core/create_knowledge",
        "rye/core/create_threaded_directive",
        "rye/core/create_tool",
        "rye/core/init",
        "rye/core/spawn_thread",
    ];
    let knowledge = [
        "rye/agent/capability-strings",
        "rye/authoring/directives",
        "rye/protocol/execute",
        "rye/protocol/fetch",
        "rye/protocol/load",
        "rye/protocol/search",
        "rye/protocol/sign",
    ];
    for id in directives {
        let item = rye.library().directive(&id.parse().unwrap()).unwrap();
        let directive = item.content.value();
        assert!(directive.description.is_some() && directive.version.is_some(), "{id}");
    }
    let coder = rye.library().directive(&"rye/agent/core/coder".parse().unwrap()).unwrap();
    let extends = coder.content.value().extends.as_ref().unwrap();
    assert_eq!(extends.value, "rye/agent/core/base");
    for id in knowledge {
        let item = rye.library().knowledge(&id.parse().unwrap()).unwrap();
        let (title, body) = (&item.content.value().title, &item.content.value().body.value);
        assert!(title.is_some() && body.lines().count() > 2, "{id}: {body}");
    }
    // A directive that creates looks for what is there first, and says when it is done.
    for id in &directives[2..6] {
        let item = rye.library().directive(&id.parse().unwrap()).unwrap();
        let directive = item.content.value();
        let mut actions = directive.steps.iter().flat_map(|step| &step.value.actions);
        assert!(actions.any(|action| action.value.primary == rye::parse::Primary::Search), "{id}");
        let body = &directive.body.value;
        assert!(body.contains("<success_criteria>"), "{id}");
    }
}

/// A hook of the program tells every thread once, without an element around the text, to carry out its
/// directive.
#[test]
fn every_thread_is_told_what_to_do_with_its_directive() {
    let scratch = Scratch::new();
    let instruction: ItemId = "rye/agent/core/DirectiveInstruction".parse().unwrap();
    let instruction = scratch.rye().library().knowledge(&instruction).unwrap();
    let instruction = instruction.content.value().body.value.clone();
    let suppress = "<context><suppress>rye/agent/core/DirectiveInstruction</suppress></context>";
    for (extends, metadata, times) in [
        ("", "", 1),
        (" extends=\"rye/agent/core/base\"", "", 1),
        (" extends=\"rye/agent/core/coder\"", "", 1),
        (" extends=\"rye/agent/core/base\"", suppress, 0),
        ("", suppress, 0),
    ] {
        let text =
            writing(metadata, "").replace("name=\"write\"", &format!("name=\"write\"{extends}"));
        scratch.sign(".ai/directives/test/write.md", &text);
        let rendered =
            scratch.rye().render(&RenderRequest::new("test/write".parse().unwrap())).unwrap();
        let message = rendered.first_user_message;
        assert_eq!(message.matches(&instruction).count(), times, "{extends}{metadata}: {message}");
        assert_eq!(message.starts_with(&instruction), times == 1, "{extends}{metadata}: {message}");
    }
}

/// An alias in a grant means its tool: for calls, for offered tools, and for the findings of the check.
#[test]
fn an_alias_in_a_grant_counts_as_its_tool() {
    for (alias, tool) in [
        ("fs_write", "rye/file-system/write"),
        ("rye/file-system/fs_read", "rye/file-system/read"),
        ("rye/bash", "rye/bash/bash"),
        ("rye.agent.threads.spawn_thread", "rye/agent/threads/thread_directive"),
    ] {
        let scratch = Scratch::new();
        let acknowledged = "<acknowledge risk=\"elevated\">For a test.</acknowledge>";
        let permissions = format!(
            "<permissions><execute><tool>{alias}</tool></execute>{acknowledged}</permissions>"
        );
        let call =
            format!("item_id=\"{}\"", alias.replace("rye.agent.threads.", "rye/agent/threads/"));
        let text = writing(&permissions, "").replace("item_id=\"rye/file-system/write\"", &call);
        let path = scratch.sign(".ai/directives/test/write.md", &text);
        let rye = scratch.rye();
        let privileges = Privileges::of(&rye, &"test/write".parse().unwrap(), &[]).unwrap();
        let capability = format!("rye.execute.tool.{}", tool.replace('/', "."));
        assert_eq!(privileges.declared_grant().patterns()[0].as_str(), capability);
        assert!(privileges.permit(&capability.parse().unwrap()).is_ok(), "{alias}");
        let checked = rye.checker().check_files(&[path]);
        let codes: Vec<&str> =
            checked.iter().flat_map(|it| &it.findings).map(|it| it.code).collect();
        let wrong = ["missing-permission", "unknown-tool", "unused-grant", "unacknowledged-risk"];
        assert!(codes.iter().all(|code| !wrong.contains(code)), "{alias}: {codes:?}");
    }
}

/// A valid value for the input.
fn some(input: &Input) -> Value {
    match (input.value_type, input.choices.first()) {
        (ValueType::Integer, _) => 1.into(),
        (_, Some(choice)) => choice.as_str().into(),
        _ => "x".into(),
    }
}

#[test]
fn every_shipped_directive_renders() {
    let rye = Scratch::new().rye();
    let directives = rye.library().list(ItemKind::Directive).unwrap();
    assert!(!directives.is_empty());
    for listed in directives {
        let item = rye.library().directive(&listed.id).unwrap();
        let required = item.content.value().inputs.iter().filter(|input| input.value.required);
        let mut request = RenderRequest::new(listed.id.clone());
        request.inputs =
            required.map(|input| (input.value.name.value.clone(), some(&input.value))).collect();
        rye.render(&request).unwrap_or_else(|error| panic!("{}: {error}", listed.id));
    }
}

#[tokio::test]
async fn a_shipped_directive_runs_without_a_model() {
    let scratch = Scratch::new();
    scratch.put("a.md", "# Alpha\n");
    let report = scratch.run("rye/core/list_folder", &[]).await.unwrap();
    let outputs = report.outcome.outputs.unwrap();
    assert_eq!(outputs["listing"], "- a.md: Alpha");
    assert_eq!(outputs["count"], 1);
}

/// The risk classes of SPEC 9.6a, each of which gives a refusal, a warning or nothing.
#[test]
fn the_shipped_risks_are_those_of_the_founding_documents() {
    let rye = rye_tests::Scratch::new().rye();
    for (pattern, warned, blocked) in [
        ("rye.execute.tool.rye.bash.*", true, false),
        ("rye.execute.tool.rye.bash.bash", true, false),
        ("rye.execute.tool.rye.shell.*", true, false),
        ("rye.execute.tool.rye.web.*", true, false),
        ("rye.execute.tool.mcp.notes.create", true, false),
        ("rye.execute.tool.own", true, false),
        ("rye.execute.*", true, false),
        ("rye.execute.tool.rye.*", true, false),
        ("rye.execute.tool.rye.file-system.*", false, false),
        ("rye.execute.tool.rye.file-system.read", false, false),
        ("rye.execute.directive.*", false, false),
        ("rye.search.*", false, false),
        ("rye.load.*", false, false),
        ("rye.sign.*", false, false),
        ("rye.*", false, true),
        ("*", false, true),
        ("rye.[el]*", false, true),
    ] {
        let grant: rye::caps::Grant = [pattern.parse().unwrap()].into_iter().collect();
        let risks = rye.risks(&grant, &[]).unwrap();
        let found = (!risks.warned.is_empty(), !risks.blocked.is_empty());
        assert_eq!(found, (warned, blocked), "{pattern}: {risks:?}");
    }
}

/// A grant of a shell and of files with the required acknowledgement gives neither a refusal nor a warning.
#[test]
fn a_directive_with_a_shell_runs_with_its_own_acknowledgement() {
    let scratch = rye_tests::Scratch::new();
    let permissions = "<permissions><execute><tool>rye.bash.*</tool><tool>rye.file-system.*</tool></execute>\
                       <fetch><knowledge>ops/*</knowledge></fetch>\
                       <acknowledge risk=\"elevated\">Runs the release script.</acknowledge></permissions>";
    scratch.sign(".ai/directives/test/write.md", &rye_tests::writing(permissions, ""));
    let rye = scratch.rye();
    let privileges = Privileges::of(&rye, &"test/write".parse().unwrap(), &[]).unwrap();
    assert_eq!(privileges.refusal, None);
    let explained =
        Explained::of(&rye, &rye::PlanRequest::new("test/write".parse().unwrap())).unwrap();
    let unacknowledged: Vec<&String> =
        explained.risks.iter().filter(|risk| risk.contains("add `<acknowledge")).collect();
    assert!(unacknowledged.is_empty(), "{unacknowledged:?}");
}
