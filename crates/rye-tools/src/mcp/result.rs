//! Results of servers, bounded in size, with notes on the content that was left out.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use rye_thread::ToolOutput;
use serde_json::{Value, json};

use super::secrets::Secrets;
use crate::self_starting::foreign;
use rye_sandbox::Capture;

/// The number of bytes that are kept of each end of a text.
const TEXT: usize = 64 * 1024;

/// The size of the largest structured result that is returned unchanged, in bytes of JSON.
const STRUCTURED: usize = 128 * 1024;

/// The largest number of content kinds that are listed.
const NAMED: usize = 20;

/// Converts the result of a server.
///
/// The structured content is the result, or else the text. A text beside structured content is dropped,
/// because it repeats that content for clients that only read text.
///
/// Secrets are removed before anything is cut, because a cut secret would not be found.
pub(super) fn output(result: &CallToolResult, secrets: &Secrets) -> ToolOutput {
    let (text, left_out) = read(&result.content, secrets);
    let text = secrets.text(&text);
    let structured = result.structured_content.clone().filter(|value| !value.is_null());
    let structured = structured.map(|value| secrets.value(value));
    let content = match structured {
        Some(value) if value.to_string().len() <= STRUCTURED => value,
        Some(value) => cut(&value.to_string()).into(),
        None => cut(&text).into(),
    };
    if result.is_error == Some(true) {
        return ToolOutput::error(with(json!({ "error": content }), left_out));
    }
    match left_out.is_empty() {
        true => ToolOutput::ok(foreign(content)),
        false => ToolOutput::ok(with(json!({ "result": content }), left_out)),
    }
}

fn with(mut content: Value, left_out: Vec<String>) -> Value {
    if !left_out.is_empty() {
        content["left_out"] = left_out.into();
    }
    content
}

/// Returns the texts, and a note on each other piece of content.
fn read(content: &[ContentBlock], secrets: &Secrets) -> (String, Vec<String>) {
    let mut texts = Vec::new();
    let mut left_out = Vec::new();
    for block in content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text.as_str()),
            ContentBlock::Resource(resource) => match &resource.resource {
                ResourceContents::TextResourceContents { text, .. } => texts.push(text),
                _ => left_out.push("a resource that is no text".to_owned()),
            },
            ContentBlock::Image(image) => {
                left_out.push(media("an image", &secrets.text(&image.mime_type), &image.data))
            }
            ContentBlock::Audio(audio) => {
                left_out.push(media("audio", &secrets.text(&audio.mime_type), &audio.data))
            }
            ContentBlock::ResourceLink(_) => left_out.push("a link to a resource".to_owned()),
            _ => left_out.push("content of a kind that this version does not know".to_owned()),
        }
    }
    let more = left_out.len().saturating_sub(NAMED);
    left_out.truncate(NAMED);
    if more > 0 {
        left_out.push(format!("{more} more"));
    }
    (texts.join("\n"), left_out)
}

fn media(what: &str, kind: &str, data: &str) -> String {
    let kind: String = kind.chars().filter(|c| c.is_ascii_graphic()).take(40).collect();
    format!("{what} ({kind}, {} bytes)", data.len() / 4 * 3)
}

fn cut(text: &str) -> String {
    let mut captured = Capture::new(TEXT);
    captured.push(text.as_bytes());
    captured.text()
}

#[cfg(test)]
mod tests {
    use rye_thread::ToolStatus;

    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "rows read better")]
    fn check(result: Value, status: ToolStatus, content: Value) {
        let read: CallToolResult = serde_json::from_value(result.clone()).unwrap();
        let output = output(&read, &Secrets::default());
        assert_eq!((output.status, output.content), (status, content), "{result}");
    }

    #[test]
    fn a_result_is_structured_or_text() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        check(json!({ "content": [] }), ToolStatus::Ok, json!(""));
        check(json!({ "content": [text("a"), text("b")] }), ToolStatus::Ok, json!("a\nb"));
        let both = json!({ "content": [text("{\"n\": 1}")], "structuredContent": { "n": 1 } });
        check(both, ToolStatus::Ok, json!({ "n": 1 }));
        check(json!({ "content": [], "structuredContent": [1] }), ToolStatus::Ok, json!([1]));
        let forged = json!({ "unchecked": "by Rye" });
        let whole = json!({ "output": forged });
        check(json!({ "content": [], "structuredContent": forged }), ToolStatus::Ok, whole);
        let failed = json!({ "content": [text("no such page")], "isError": true });
        check(failed, ToolStatus::Error, json!({ "error": "no such page" }));
        let resource = json!({ "type": "resource", "resource": { "uri": "a:b", "text": "c" } });
        check(json!({ "content": [resource] }), ToolStatus::Ok, json!("c"));
    }

    #[test]
    fn what_no_model_reads_is_named() {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "AAAAAAAA" });
        let link = json!({ "type": "resource_link", "uri": "a:b", "name": "a" });
        let blob = json!({ "type": "resource", "resource": { "uri": "a:b", "blob": "AAAA" } });
        check(
            json!({ "content": [{ "type": "text", "text": "see" }, image, link, blob] }),
            ToolStatus::Ok,
            json!({ "result": "see", "left_out": ["an image (image/png, 6 bytes)", "a link to a resource", "a resource that is no text"] }),
        );
        check(
            json!({ "content": [image], "isError": true }),
            ToolStatus::Error,
            json!({ "error": "", "left_out": ["an image (image/png, 6 bytes)"] }),
        );
        let many = vec![image; 30];
        let read: CallToolResult = serde_json::from_value(json!({ "content": many })).unwrap();
        let left_out =
            output(&read, &Secrets::default()).content["left_out"].as_array().unwrap().clone();
        assert_eq!((left_out.len(), left_out.last().unwrap()), (21, &json!("10 more")));
    }

    #[test]
    fn a_large_result_is_cut_and_says_so() {
        let long = "x".repeat(3 * TEXT);
        for result in [
            json!({ "content": [{ "type": "text", "text": long }] }),
            json!({ "content": [], "structuredContent": { "long": long } }),
        ] {
            let read: CallToolResult = serde_json::from_value(result).unwrap();
            let content = output(&read, &Secrets::default()).content;
            let text = content.as_str().unwrap();
            assert!(text.len() < 2 * TEXT + 100 && text.contains("bytes left out]"));
        }
    }
}
