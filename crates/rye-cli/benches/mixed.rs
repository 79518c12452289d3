//! A project of ten thousand signed items that refer to each other: a third are directives, a tenth tools, the rest knowledge.

use std::path::Path;

use rye::sign::{CommentStyle, SigningKey};

use crate::project::{N_ENTRIES, put, text, trusted_key};

const N_DIRECTIVES: usize = N_ENTRIES / 3;
const N_TOOLS: usize = N_ENTRIES / 10;
/// As many directives have what they extend in common.
const N_HEIRS: usize = 100;

/// Writes the items and a user space that trusts their key, and gives the items' size in bytes.
pub(crate) fn write_project(folder: &Path) -> usize {
    let key = trusted_key(folder);
    let mut random = 1;
    let directives =
        (0..N_DIRECTIVES).map(|number| directive(number).put(folder, &key)).sum::<usize>();
    let tools = (0..N_TOOLS).map(|number| tool(number).put(folder, &key)).sum::<usize>();
    let entries = N_DIRECTIVES + N_TOOLS..N_ENTRIES;
    let entries = entries.enumerate().map(|(number, _)| Item {
        kind: "knowledge",
        id: knowledge_id(number),
        style: CommentStyle::Html,
        text: text(number, &mut random),
    });
    directives + tools + entries.map(|entry| entry.put(folder, &key)).sum::<usize>()
}

/// An item that is not signed yet.
struct Item {
    kind: &'static str,
    id: String,
    style: CommentStyle,
    text: String,
}

impl Item {
    fn put(&self, folder: &Path, key: &SigningKey) -> usize {
        put(folder, key, (self.kind, &self.id), self.style, &self.text)
    }
}

fn knowledge_id(number: usize) -> String {
    format!("part{}/entry{number}", number / 100)
}

fn tool_id(number: usize) -> String {
    format!("ops{}/tool{number}", number / 50)
}

fn directive_id(number: usize) -> String {
    format!("flow{}/work{number}", number / N_HEIRS)
}

/// A tool that is a program or stands for a shipped one.
fn tool(number: usize) -> Item {
    let executor = match number % 2 {
        0 => "executor: command\ncommand: wc\nargs: [\"{path}\"]",
        _ => "executor: builtin\nbuiltin: file-system/read",
    };
    let text = format!(
        "description: Does part {number} of the work.\nversion: 1.0.0\n{executor}\ninput_schema:\n  type: object\n  \
         properties:\n    path: {{type: string, description: The file}}\n  required: [path]\n"
    );
    Item { kind: "tool", id: tool_id(number), style: CommentStyle::Hash, text }
}

/// A directive with steps, permissions, context and a hook, which all but the first of a folder inherit from it.
fn directive(number: usize) -> Item {
    let id = directive_id(number);
    let base = number - number % N_HEIRS;
    let (extends, hook) = match number == base {
        true => (String::new(), HOOK.to_owned()),
        false => (format!(" extends=\"{}\"", directive_id(base)), String::new()),
    };
    // Of another folder, whose tools are granted by a wildcard.
    let first = number % N_TOOLS;
    let second = (first + N_TOOLS / 2 + number / 7 % 50) % N_TOOLS;
    let (knowledge, other) = (number, (number * 3) % 5_000);
    let text = DIRECTIVE
        .replace("{extends}", &extends)
        .replace("{hook}", &hook)
        .replace("{name}", &id)
        .replace("{folder}", &format!("flow{}", number / N_HEIRS))
        .replace("{first}", &tool_id(first))
        .replace("{first_grant}", &tool_id(first).replace('/', "."))
        .replace("{second}", &tool_id(second))
        .replace("{second_folder}", &format!("ops{}", second / 50))
        .replace("{knowledge}", &knowledge_id(knowledge))
        .replace("{other}", &knowledge_id(other))
        .replace("{other_folder}", &format!("part{}", other / 100));
    Item { kind: "directive", id, style: CommentStyle::Html, text }
}

const HOOK: &str = r#"
    <hooks>
      <hook id="look" event="limit">
        <condition path="limit" op="eq" value="turns" />
        <action primary="execute" item_type="tool" item_id="rye/file-system/ls" />
      </hook>
    </hooks>"#;

const DIRECTIVE: &str = r#"# Work

What this directive is for, in a sentence or two that a person reads.

```xml
<directive name="{name}" version="1.0.0"{extends}>
  <metadata>
    <description>Does a part of the work on a file and reports what it found.</description>
    <category>{folder}</category>
    <author>measurements</author>
    <model tier="fast" />
    <limits turns="8" tokens="20000" spend="0.10" />
    <permissions>
      <execute>
        <tool>{first_grant}</tool>
        <tool>{second_folder}.*</tool>
        <tool>rye.file-system.*</tool>
      </execute>
      <search><knowledge>*</knowledge></search>
      <load><knowledge>{other_folder}.*</knowledge></load>
      <acknowledge risk="elevated">The programs count lines and words.</acknowledge>
    </permissions>
    <context>
      <before>{knowledge}</before>
      <after>Report in one sentence.</after>
    </context>{hook}
  </metadata>
  <inputs>
    <input name="path" type="string" required="true">The file to work on</input>
    <input name="depth" type="integer" default="2">How deep to look</input>
  </inputs>
  <outputs>
    <output name="report" type="string" required="true">What was found</output>
  </outputs>
</directive>
```

<process>
  <step name="look">
    <description>Look at what is there, {input:depth} folders deep.</description>
    <execute item_type="tool" item_id="rye/file-system/ls"><param name="path" value="." /></execute>
  </step>
  <step name="find">
    <search item_type="knowledge" query="{input:path}" />
  </step>
  <step name="read">
    <load item_type="knowledge" item_id="{other}" />
    <execute item_type="tool" item_id="rye/file-system/read"><param name="path" value="{input:path}" /></execute>
  </step>
  <step name="count">
    <execute item_type="tool" item_id="{first}"><param name="path" value="{input:path}" /></execute>
    <execute item_type="tool" item_id="{second}"><param name="path" value="{input:path}" /></execute>
  </step>
</process>
"#;
