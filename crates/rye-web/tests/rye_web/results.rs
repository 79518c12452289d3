//! What `web/fetch` gives back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;

/// A server with a page of each sort, and the tool that may ask it.
fn served() -> (Server, Arc<dyn Tool>, String) {
    let server = Server::new(|request| match request.path() {
        "/page" => Answer::new(
            200,
            "text/html; charset=iso-8859-1",
            "<title>A page</title><h1>Hi</h1><p>See <a href='/next'>this</a>.<script>x</script>",
        ),
        "/plain" => Answer::new(200, "text/plain", "häh"),
        "/json" => Answer::json(200, "{\"a\": 1}"),
        "/long" => Answer::new(200, "text/plain", "0123456789".repeat(900 * 1024)),
        "/image" => Answer::new(200, "image/png", "png"),
        "/binary" => Answer::new(200, "text/plain", "a\0b"),
        "/packed" => Answer::untyped(200, "bomb").with("content-encoding", "gzip"),
        "/missing" => Answer::new(404, "text/plain", "no"),
        "/hop" => redirect(301, "/plain"),
        "/loop" => redirect(302, "/loop"),
        "/broken" => Answer::untyped(200, "abcdefghij").cut(),
        "/nonsense" => Answer::raw("SSH-2.0-OpenSSH\r\n"),
        other => panic!("{other}"),
    });
    let origin = format!("open.test:{}", server.port);
    let tool = fetch(&web(allowing(&[&origin], server.port), &Written::new(NAMES)));
    (server, tool, format!("http://{origin}"))
}

#[test]
fn pages_become_text() {
    let (_server, tool, base) = served();
    let check = |arguments: Value, expected: Value| {
        let mut arguments = arguments;
        arguments["url"] = format!("{base}{}", arguments["url"].as_str().unwrap()).into();
        let output = call(tool.as_ref(), arguments.clone());
        assert_eq!(output.status, ToolStatus::Ok, "{arguments} {}", output.content);
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(
                output.content.get(name).unwrap_or(&Value::Null),
                value,
                "{arguments} {name}"
            );
        }
    };
    let markdown = format!("# Hi\n\nSee [this]({base}/next).");
    check(
        json!({ "url": "/page" }),
        json!({ "url": format!("{base}/page"), "status": 200, "content_type": "text/html", "title": "A page",
            "content": markdown, "next_offset": null, "cut": null, "redirected_from": null }),
    );
    check(json!({ "url": "/page", "format": "text" }), json!({ "content": "Hi\n\nSee this." }));
    let raw = "<title>A page</title><h1>Hi</h1><p>See <a href='/next'>this</a>.<script>x</script>";
    check(json!({ "url": "/page", "format": "raw" }), json!({ "content": raw, "title": null }));
    check(json!({ "url": "/json" }), json!({ "content": "{\"a\": 1}" }));
    check(
        json!({ "url": "/hop" }),
        json!({ "content": "häh", "url": format!("{base}/plain"), "redirected_from": [format!("{base}/hop")] }),
    );
    // A character is whole, or in the next part.
    check(json!({ "url": "/plain", "max_bytes": 2 }), json!({ "content": "h", "next_offset": 1 }));
    check(
        json!({ "url": "/plain", "max_bytes": 1, "offset": 1 }),
        json!({ "content": "ä", "next_offset": 3 }),
    );
    check(json!({ "url": "/plain", "offset": 3 }), json!({ "content": "h", "next_offset": null }));
    check(json!({ "url": "/plain", "offset": 99 }), json!({ "content": "", "next_offset": null }));
    check(
        json!({ "url": "/long", "offset": 8 * 1024 * 1024 - 3 }),
        json!({ "content": "567", "next_offset": null, "cut": "the page is longer than 8 MiB; what follows was not received" }),
    );
}

#[test]
fn what_cannot_be_told_is_said() {
    let (_server, tool, base) = served();
    for (path, expected) in [
        ("/image", format!("`{base}/image` is `image/png`, which is no text")),
        (
            "/binary",
            format!("`{base}/binary` has bytes that are in no text, whatever its type says"),
        ),
        ("/packed", format!("`{base}/packed` was sent packed as `gzip`, which was not asked for")),
        ("/missing", "the server answered 404 Not Found".to_owned()),
        ("/loop", format!("more than 5 redirects; the last one was from `{base}/loop`")),
        ("/broken", "`open.test` did not answer: ".to_owned()),
        ("/nonsense", "`open.test` did not answer: ".to_owned()),
    ] {
        let output = call(tool.as_ref(), json!({ "url": format!("{base}{path}") }));
        let error = output.content["error"].as_str().unwrap_or_default();
        assert_eq!(output.status, ToolStatus::Error, "{path} {}", output.content);
        assert!(error.starts_with(&expected), "{path} {error}");
    }
    let output = call(tool.as_ref(), json!({ "url": "http://nobody.test/" }));
    let expected = "the host `nobody.test` cannot be looked up: nobody of that name";
    assert_eq!(
        (output.content["error"].as_str(), output.status),
        (Some(expected), ToolStatus::Error)
    );
}

#[test]
fn a_request_tells_nothing_of_this_machine() {
    let (server, tool, base) = served();
    call(tool.as_ref(), json!({ "url": format!("{base}/hop") }));
    for request in server.received() {
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["accept", "accept-encoding", "user-agent", "host"]);
    }
}

#[test]
fn the_manifest_is_true() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../rye-project/std/tools/rye/web/fetch.yaml");
    let manifest: Value = serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(manifest["builtin"], rye_web::FETCH);
    let takes = jsonschema::validator_for(&manifest["input_schema"]).unwrap();
    let gives = jsonschema::validator_for(&manifest["output_schema"]).unwrap();
    let (_server, tool, base) = served();
    let mut given = BTreeSet::new();
    for arguments in [
        json!({ "url": format!("{base}/page"), "format": "markdown", "max_bytes": 3, "offset": 0 }),
        json!({ "url": format!("{base}/long") }),
        json!({ "url": format!("{base}/hop"), "format": "text" }),
    ] {
        assert!(takes.is_valid(&arguments), "{arguments}");
        let output = call(tool.as_ref(), arguments);
        assert!(gives.is_valid(&output.content), "{}", output.content);
        given.extend(output.content.as_object().unwrap().keys().cloned());
    }
    let declared = manifest["output_schema"]["properties"].as_object().unwrap();
    assert_eq!(given, declared.keys().cloned().collect());
    let unknown = json!({ "url": base, "method": "POST" });
    assert!(!takes.is_valid(&unknown));
    assert_eq!(call(tool.as_ref(), unknown).status, ToolStatus::Error);
}
