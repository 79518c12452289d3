//! Items as a person writes them.

/// A directive that needs no tool.
pub(super) const CHILD: &str = r#"# Child

```xml
<directive name="child" version="1.0.0">
  <metadata>
    <description>Returns a word.</description>
    <permissions></permissions>
  </metadata>
  <inputs><input name="word" required="true">The word</input></inputs>
  <outputs><output name="said" required="true">The word</output></outputs>
</directive>
```

<process>
  <step name="say">
    <execute item_type="tool" item_id="rye/agent/threads/directive_return">
      <param name="said" value="{input:word}" />
    </execute>
  </step>
</process>
"#;

/// An item as a person writes it, without problems.
pub(super) fn whole(path: &str) -> String {
    let (_, id) = path.trim_start_matches(".ai/").split_once('/').unwrap();
    let (category, name) = id.split_once('/').unwrap();
    let name = name.split_once('.').unwrap().0;
    match path {
        _ if path.contains("/directives/") => {
            CHILD.replace("name=\"child\"", &format!("name=\"{name}\""))
        }
        _ if path.contains("/knowledge/") => {
            format!("```yaml\nname: {name}\ntitle: Mine\ncategory: {category}\n```\n\nMine.\n")
        }
        _ => "description: Mine.\nexecutor: builtin\nbuiltin: file-system/read\ninput_schema: {type: object}\n".to_owned(),
    }
}
