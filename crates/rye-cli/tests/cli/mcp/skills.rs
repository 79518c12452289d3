//! Directives as skills, as the protocol library's own client sees them.

use std::collections::BTreeSet;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, ClientConfig, ErrorCode, GetSkillRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ResourceContents, Skill, SkillResources,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService, ServiceError};
use rye::McpServer;
use rye::caps::Grant;
use serde_json::{Value, json};

use super::granted;
use super::wire::{Era, Wire, host, server};
use crate::session::Session;

const INDEX: &str = "skill://notes-index/SKILL.md";
const ORIGIN: &str = "io.github.rye-os/directive";

type Client = RunningService<RoleClient, ClientConfig>;

/// A client of the newest revision, or of the last one with a handshake.
async fn client(server: McpServer, is_newest: bool) -> Client {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    tokio::spawn(server.serve(read, write, std::future::pending()));
    let lifecycle = match is_newest {
        true => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] },
        false => ClientLifecycleMode::Initialize,
    };
    ClientConfig::default().serve_with_lifecycle(ours, lifecycle).await.unwrap()
}

async fn text(client: &Client, uri: &str) -> String {
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
    match &read.contents[..] {
        [ResourceContents::TextResourceContents { uri: told, mime_type, text, .. }] => {
            assert_eq!((told.as_str(), mime_type.as_deref()), (uri, Some("text/markdown")));
            text.clone()
        }
        other => panic!("{other:?}"),
    }
}

fn named<'a>(skills: &'a [Skill], uri: &str) -> &'a Skill {
    skills.iter().find(|skill| skill.uri == uri).unwrap()
}

#[tokio::test]
async fn a_skill_is_what_its_manifest_promises() {
    let session = Session::new();
    for is_newest in [true, false] {
        let client = client(server(&session, granted(&[])), is_newest).await;
        let skills = client.list_all_skills().await.unwrap();
        let prompts = client.list_all_prompts().await.unwrap();
        assert_eq!(skills.len(), prompts.len(), "each directive that is a prompt is a skill");
        for skill in &skills {
            skill.validate().unwrap();
            let got = client.get_skill(GetSkillRequestParams::new(&skill.uri)).await.unwrap();
            assert_eq!(got.skill, *skill);
            let SkillResources::Files(files) = &skill.resources else { panic!("{skill:?}") };
            let [file] = &files[..] else { panic!("{files:?}") };
            let text = text(&client, &file.uri).await;
            file.verify(text.as_bytes()).unwrap();
            let front = text.split("---\n").nth(1).unwrap();
            assert!(front.starts_with(&format!("name: {}\n", skill.name())), "{front}");
            let description = serde_json::to_string(&skill.frontmatter.description).unwrap();
            assert!(front.contains(&format!("description: {description}\n")), "{front}");
        }
        let resources = client.list_all_resources().await.unwrap();
        let uris = |uris: Vec<String>| uris.into_iter().collect::<BTreeSet<_>>();
        let expected = uris(skills.iter().map(|skill| skill.uri.clone()).collect());
        assert_eq!(uris(resources.into_iter().map(|it| it.uri).collect()), expected);
        insta::assert_snapshot!("skill_md", text(&client, INDEX).await);
    }
}

/// The signature is that of the directive's file, and the entry says so.
#[tokio::test]
async fn a_skill_says_what_its_signature_covers() {
    let session = Session::new();
    let client = client(server(&session, granted(&[])), true).await;
    let skills = client.list_all_skills().await.unwrap();
    let origin = |uri: &str| named(&skills, uri).meta.as_ref().unwrap().0[ORIGIN].clone();
    let loaded = client
        .call_tool(
            CallToolRequestParams::new("rye_load").with_arguments(
                json!({ "item_type": "directive", "item_id": "notes/index" })
                    .as_object()
                    .unwrap()
                    .clone(),
            ),
        )
        .await
        .unwrap();
    let loaded = loaded.structured_content.unwrap();
    let signed = origin(INDEX);
    for member in ["kind", "id", "sha256", "signature"] {
        assert_eq!(signed[member], loaded[member], "{signed}");
    }
    assert_eq!(signed["signature"]["coverage"], "whole");
    assert!(signed["covers"].as_str().unwrap().ends_with("not these files"), "{signed}");
    let shipped = origin("skill://rye-agent-core-base/SKILL.md");
    assert_eq!((&shipped["space"], &shipped["signature"]), (&json!("builtin"), &Value::Null));
}

/// A client follows the skill with the arguments that it gives.
#[tokio::test]
async fn a_skill_s_call_returns_the_directions() {
    let session = Session::new();
    let client = client(server(&session, granted(&[])), true).await;
    let text = text(&client, INDEX).await;
    let call = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let call: Value = serde_json::from_str(call).unwrap();
    let request = CallToolRequestParams::new("rye_execute");
    let result =
        client.call_tool(request.with_arguments(call.as_object().unwrap().clone())).await.unwrap();
    let told = result.structured_content.unwrap();
    assert!(told.to_string().contains("your_directions"), "{told}");
}

#[tokio::test]
async fn a_client_has_the_skills_that_it_may_follow() {
    let session = Session::new();
    session.put(".ai/directives/notes/unsigned.md", "# Nothing\n");
    let grant: Grant =
        ["rye.execute.directive.notes.*"].iter().map(|it| it.parse().unwrap()).collect();
    let client = client(server(&session, grant), true).await;
    let skills = client.list_all_skills().await.unwrap();
    assert!(skills.iter().all(|skill| skill.uri.starts_with("skill://notes-")), "{skills:?}");
    assert!(skills.iter().all(|skill| skill.name() != "notes-unsigned"));
    for (uri, part) in [
        ("skill://rye-agent-core-base/SKILL.md", "there is no skill at"),
        ("skill://notes-unsigned/SKILL.md", "there is no skill at"),
        ("skill://notes-indx/SKILL.md", "did you mean `skill://notes-index/SKILL.md`?"),
        ("skill://zzz/SKILL.md", "`skills/list` lists them"),
        ("file:///etc/passwd/SKILL.md", "there is no skill at"),
    ] {
        let got = client.get_skill(GetSkillRequestParams::new(uri)).await.unwrap_err();
        let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap_err();
        for error in [got, read] {
            let ServiceError::McpError(error) = error else { panic!("{error:?}") };
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{error}");
            assert!(error.message.contains(part), "{error}");
        }
    }
}

/// The operator may let unsigned items run. No client is told of one as a skill, which promises a signature.
#[tokio::test]
async fn an_unsigned_directive_is_no_skill_even_where_it_runs() {
    let session = Session::new();
    session.change(".ai/directives/notes/index.md", "# ", "# Changed ");
    let mut host = host(&session, granted(&[]));
    host.setup.policy = host.setup.policy.dangerous_allow_unsigned();
    let client = client(McpServer::new(host), true).await;
    let skills = client.list_all_skills().await.unwrap();
    assert!(skills.iter().all(|skill| skill.uri != INDEX));
}

/// What is not served is not declared, and resources have the codes of each revision.
#[tokio::test]
async fn skills_are_declared_where_they_are_served() {
    let session = Session::new();
    for (patterns, has_skills) in [("rye.search.*", false), ("rye.load.directive.*", true)] {
        let grant: Grant = std::iter::once(patterns.parse().unwrap()).collect();
        let client = client(server(&session, grant), true).await;
        let capabilities = client.peer_info().unwrap().capabilities.clone();
        assert_eq!(capabilities.supports_skills(), has_skills);
        assert_eq!(capabilities.resources.is_some(), has_skills);
        assert_eq!(client.list_all_skills().await.is_ok(), has_skills);
    }
    let mut wire = Wire::begin(server(&session, granted(&[])), Era::Initialize).await;
    let answer = wire.ask("resources/read", json!({ "uri": "skill://zzz/SKILL.md" })).await;
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    let answer = wire.ask("skills/get", json!({ "uri": "skill://zzz" })).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let listed = wire.ask("skills/list", json!({})).await["result"].clone();
    assert!(listed.get("resultType").is_none() && listed["skills"].is_array(), "{listed}");
}
