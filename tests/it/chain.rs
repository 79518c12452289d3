//! A chain of three directives: its composed context and its grant.

use rye::RenderRequest;
use rye_tests::Scratch;

fn directive(attributes: &str, inner: &str) -> String {
    format!(
        "# A directive\n\n```xml\n<directive {attributes}>\n{inner}\n</directive>\n```\n\nDo it.\n"
    )
}

const BASE: &str = r"
  <metadata>
    <context>
      <system>You are a Rye OS agent. Follow all safety and permission constraints.</system>
    </context>
  </metadata>
  <permissions>
    <search><directive>*</directive></search>
    <search><knowledge>*</knowledge></search>
    <load><knowledge>*</knowledge></load>
  </permissions>";

const CODER: &str = r"
  <metadata>
    <context>
      <system>You write clean, tested code following project conventions.</system>
      <before>
        <knowledge>project/coding-standards</knowledge>
      </before>
    </context>
  </metadata>
  <permissions>
    <execute>
      <tool>rye.file-system.*</tool>
      <tool>rye.bash.bash</tool>
    </execute>
    <search><directive>*</directive></search>
    <load><knowledge>*</knowledge></load>
  </permissions>";

const DEPLOY_TASK: &str = r"
  <metadata>
    <context>
      <before>
        <knowledge>my-project/deploy-runbook</knowledge>
      </before>
      <after>Verify deployment health before returning.</after>
    </context>
  </metadata>";

/// The example of the founding document on `extends`.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    for (id, extends, inner) in [
        ("rye/agent/core/base", None, BASE),
        ("rye/agent/core/coder", Some("rye/agent/core/base"), CODER),
        ("my-project/deploy-task", Some("rye/agent/core/coder"), DEPLOY_TASK),
    ] {
        let extends = extends.map(|parent| format!(" extends=\"{parent}\"")).unwrap_or_default();
        let text = directive(&format!("name=\"{id}\"{extends}"), inner);
        scratch.sign(&format!(".ai/directives/{id}.md"), &text);
    }
    for (id, body) in
        [("project/coding-standards", "Standards."), ("my-project/deploy-runbook", "Runbook.")]
    {
        let name = id.split('/').next_back().unwrap();
        scratch.sign(
            &format!(".ai/knowledge/{id}.md"),
            &format!("```yaml\nname: {name}\n```\n\n{body}\n"),
        );
    }
    scratch
}

#[test]
fn composes_root_first_as_the_founding_document_shows() {
    let rendered = scratch()
        .rye()
        .render(&RenderRequest::new("my-project/deploy-task".parse().unwrap()))
        .unwrap();
    assert_eq!(
        rendered.system.as_deref(),
        Some(
            "You are a Rye OS agent. Follow all safety and permission constraints.\n\
             You write clean, tested code following project conventions."
        )
    );
    let before = "Standards.\nRunbook.";
    let after = "Verify deployment health before returning.";
    let composed = format!("\n\n{before}\n\n{}\n\n{after}", rendered.prompt);
    // The knowledge of the program's own hook comes first.
    let hooked = rendered.first_user_message.strip_suffix(&composed).unwrap();
    assert!(hooked.starts_with("Carry out the directive below now."), "{hooked}");
}

#[test]
fn the_grant_is_that_of_the_nearest_directive_which_declares_one() {
    let rye = scratch();
    let rye = rye.rye();
    let library = rye.library();
    let leaf = library.directive(&"my-project/deploy-task".parse().unwrap()).unwrap();
    let chain = library.chain(leaf).unwrap();
    let patterns: Vec<String> =
        chain.grant().unwrap().patterns().iter().map(ToString::to_string).collect();
    assert_eq!(
        patterns,
        [
            "rye.execute.tool.rye.bash.bash",
            "rye.execute.tool.rye.file-system.*",
            "rye.load.knowledge.*",
            "rye.search.directive.*",
        ]
    );
    let prompt =
        rye.render(&RenderRequest::new("my-project/deploy-task".parse().unwrap())).unwrap().prompt;
    assert!(prompt.contains("<tool>rye.bash.bash</tool>"), "{prompt}");
    assert!(!prompt.contains("<search><knowledge>"), "{prompt}");
}
