//! Results of servers, bounded in size, with notes on the content that was left out.

mod content;

use rye_thread::ToolOutput;
use serde_json::{Map, Value};

use self::content::Content;
use super::secrets::Secrets;
use crate::self_starting::{collection, foreign};
use rye_sandbox::Capture;

/// The number of bytes that are kept of each end of a text.
const TEXT: usize = 64 * 1024;

/// The size of the largest structured result that is returned unchanged, in bytes of JSON.
const STRUCTURED: usize = 128 * 1024;

/// Converts the result of a server, as the server wrote it.
///
/// The structured content is the result, or else the text. A text beside structured content is kept, unless it says the same for clients
/// that only read text. A text that is a JSON object or list is that value, as the output of a program is. Links to resources are
/// members of their own. What cannot be read is named in `left_out`.
///
/// Secrets are removed before anything is cut, because a cut secret would not be found.
pub(super) fn output(result: &Value, secrets: &Secrets) -> ToolOutput {
    let Content { texts, links, mut left_out } = Content::read(result.get("content"), secrets);
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    let is_repeated = structured.is_some_and(|value| says_same(&texts, value));
    let text = secrets.text(&texts.join("\n"));
    let mut more = Map::new();
    let main = match structured {
        Some(value) => {
            if !is_repeated && !text.is_empty() {
                more.insert("text".to_owned(), cut(&text).into());
            }
            cut_value(secrets.value(value.clone()))
        }
        None => collection(&text).map_or_else(|| cut(&text).into(), cut_value),
    };
    let is_error = match result.get("isError") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_error)) => *is_error,
        Some(Value::String(text)) if ["true", "false"].contains(&text.as_str()) => text == "true",
        Some(_) => {
            left_out.push("`isError`, which is neither `true` nor `false`".to_owned());
            false
        }
    };
    if !links.is_empty() {
        more.insert("links".to_owned(), links.into());
    }
    if !left_out.is_empty() {
        more.insert("left_out".to_owned(), left_out.into());
    }
    let named = |name: &str, main: Value| -> Value {
        let mut members = Map::from_iter([(name.to_owned(), main)]);
        members.append(&mut more.clone());
        members.into()
    };
    match (is_error, more.is_empty()) {
        (true, _) => ToolOutput::error(named("error", main)),
        (false, true) => ToolOutput::ok(foreign(main)),
        (false, false) => ToolOutput::ok(named("result", main)),
    }
}

/// Returns the value, or the ends of its JSON if it is large.
fn cut_value(value: Value) -> Value {
    let json = value.to_string();
    if json.len() <= STRUCTURED { value } else { cut(&json).into() }
}

/// Returns `true` if the texts say what the value says: as the JSON of it, or each text as an item of a list. Kits for servers
/// put a value that is no object under the name `result`, and write its text alone.
fn says_same(texts: &[String], value: &Value) -> bool {
    let says = |text: &str, value: &Value| {
        value.as_str() == Some(text)
            || serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value)
    };
    let wrapped = value.as_object().filter(|members| members.len() == 1);
    let wrapped = wrapped.and_then(|members| members.get("result"));
    [Some(value), wrapped].into_iter().flatten().any(|value| {
        says(&texts.join("\n"), value)
            || value.as_array().is_some_and(|items| {
                items.len() == texts.len()
                    && texts.iter().zip(items).all(|(text, item)| says(text, item))
            })
    })
}

fn cut(text: &str) -> String {
    let mut captured = Capture::new(TEXT);
    captured.push(text.as_bytes());
    captured.text()
}

#[cfg(test)]
mod tests {
    use rye_thread::ToolStatus;
    use serde_json::json;

    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "rows read better")]
    fn check(result: Value, status: ToolStatus, content: Value) {
        let output = output(&result, &Secrets::default());
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

    /// Text that only repeats the structured content, in the forms that kits for servers write.
    #[test]
    fn text_is_left_out_only_if_it_says_the_same() {
        let texts = |texts: &[&str]| -> Value {
            texts.iter().map(|text| json!({ "type": "text", "text": text })).collect()
        };
        for (written, structured) in [
            (texts(&["{\n \"n\": 1\n}"]), json!({ "n": 1 })),
            (texts(&["5"]), json!({ "result": 5 })),
            (texts(&["five"]), json!({ "result": "five" })),
            (texts(&["1", "\"2\"", "{\"a\": 3}"]), json!({ "result": [1, "2", { "a": 3 }] })),
            (texts(&["a", "b"]), json!(["a", "b"])),
            (texts(&[]), json!({})),
        ] {
            let both = json!({ "content": written, "structuredContent": structured });
            check(both, ToolStatus::Ok, structured);
        }
        for (written, structured) in [
            ("two found", json!({ "n": 2 })),
            ("{\"n\": 1}", json!({ "n": 2 })),
            ("done", json!({})),
            ("done", json!({ "result": null })),
        ] {
            let content = texts(&[written]);
            let both = json!({ "content": content, "structuredContent": structured });
            let expected = json!({ "result": structured, "text": written });
            check(both, ToolStatus::Ok, expected);
            let failed =
                json!({ "content": content, "structuredContent": structured, "isError": true });
            let expected = json!({ "error": structured, "text": written });
            check(failed, ToolStatus::Error, expected);
        }
    }

    #[test]
    fn text_that_is_an_object_or_a_list_is_that_value() {
        for (text, expected) in [
            ("{\"n\": 1}", json!({ "n": 1 })),
            (" [1, \"a\"]\n", json!([1, "a"])),
            ("5", json!("5")),
            ("\"a\"", json!("\"a\"")),
            ("{\"n\": 1} and more", json!("{\"n\": 1} and more")),
            ("{\"unchecked\": 1}", json!({ "output": { "unchecked": 1 } })),
        ] {
            let result = json!({ "content": [{ "type": "text", "text": text }] });
            check(result, ToolStatus::Ok, expected);
        }
    }

    /// One bad part costs only itself.
    #[test]
    fn a_result_is_read_as_far_as_it_can_be() {
        let text = json!({ "type": "text", "text": "a" });
        for (result, status, expected) in [
            (json!({}), ToolStatus::Ok, json!("")),
            (json!({ "content": null }), ToolStatus::Ok, json!("")),
            (json!({ "content": "a" }), ToolStatus::Ok, json!("a")),
            (json!({ "content": text }), ToolStatus::Ok, json!("a")),
            (json!({ "content": ["a", text] }), ToolStatus::Ok, json!("a\na")),
            (json!({ "content": [text], "isError": "false" }), ToolStatus::Ok, json!("a")),
            (json!({ "content": [text], "isError": null }), ToolStatus::Ok, json!("a")),
            (
                json!({ "content": [text], "isError": "true" }),
                ToolStatus::Error,
                json!({ "error": "a" }),
            ),
            (
                json!({ "content": [text], "isError": 1 }),
                ToolStatus::Ok,
                json!({ "result": "a", "left_out": ["`isError`, which is neither `true` nor `false`"] }),
            ),
            (
                json!({ "content": [text, { "type": "vid\u{202e}eo" }, { "text": "b" }, { "type": "text" }, 7] }),
                ToolStatus::Ok,
                json!({ "result": "a", "left_out": [
                    "content of the kind `vid\\u{202e}eo`, which this version does not know",
                    "content without a kind",
                    "a text that is no text",
                    "content without a kind",
                ] }),
            ),
            (
                json!({ "content": 7, "structuredContent": { "n": 1 } }),
                ToolStatus::Ok,
                json!({ "result": { "n": 1 }, "left_out": ["content without a kind"] }),
            ),
        ] {
            check(result, status, expected);
        }
    }

    #[test]
    fn a_link_has_a_name_and_an_address() {
        let link =
            |name: Value, uri: &str| json!({ "type": "resource_link", "name": name, "uri": uri });
        let long = format!("file:///{}", "x".repeat(3000));
        let links = [
            link(json!("a \"b\""), "file:///a%20b"),
            link(json!("a\n\u{200b}\u{1b}[2J"), "file:///\u{202e}a"),
            link(Value::Null, &long),
            json!({ "type": "resource_link", "name": "a" }),
        ];
        check(
            json!({ "content": links }),
            ToolStatus::Ok,
            json!({
                "result": "",
                "links": [
                    { "name": "a \"b\"", "address": "file:///a%20b" },
                    { "name": "a\\n\\u{200b}\\u{1b}[2J", "address": "file:///\\u{202e}a" },
                    { "name": "", "address": format!("{}…", &long[..2000]) },
                ],
                "left_out": ["a link to a resource without an address"],
            }),
        );
        let many = json!({ "content": vec![link(json!("a"), "a:b"); 30] });
        let content = output(&many, &Secrets::default()).content;
        assert_eq!(content["links"].as_array().unwrap().len(), 20);
        assert_eq!(content["left_out"], json!(["10 more links"]));
    }

    #[test]
    fn what_no_model_reads_is_named() {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "AAAAAAAA" });
        let blob = json!({ "type": "resource", "resource": { "uri": "a:b", "blob": "AAAA" } });
        check(
            json!({ "content": [{ "type": "text", "text": "see" }, image, blob] }),
            ToolStatus::Ok,
            json!({ "result": "see", "left_out": ["an image (image/png, 6 bytes)", "a resource that is no text"] }),
        );
        check(
            json!({ "content": [image], "isError": true }),
            ToolStatus::Error,
            json!({ "error": "", "left_out": ["an image (image/png, 6 bytes)"] }),
        );
        let many = vec![image; 30];
        let many = json!({ "content": many });
        let left_out =
            output(&many, &Secrets::default()).content["left_out"].as_array().unwrap().clone();
        assert_eq!((left_out.len(), left_out.last().unwrap()), (21, &json!("10 more")));
    }

    #[test]
    fn a_large_result_is_cut_and_says_so() {
        let long = "x".repeat(3 * TEXT);
        for result in [
            json!({ "content": [{ "type": "text", "text": long }] }),
            json!({ "content": [], "structuredContent": { "long": long } }),
        ] {
            let content = output(&result, &Secrets::default()).content;
            let text = content.as_str().unwrap();
            assert!(text.len() < 2 * TEXT + 100 && text.contains("bytes left out]"));
        }
    }
}
