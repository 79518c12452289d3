//! The founding documents, if they are next to the checkout. Otherwise these tests are counted as ignored.
//!
//! Facts that do not need their text, such as digests, signatures and the key, are tested everywhere, in
//! `rye-sign`.

mod examples;
mod forms;
#[cfg(unix)]
mod runs;
mod signatures;

use rye::sign::{Binding, Coverage, Error, Policy, Provenance};
use rye::{RenderRequest, VerifyError};
use rye_tests::{Scratch, inputs, seed, seeds};

const KNOWLEDGE: &str = ".ai/knowledge/rye/agent/threads/prompt-rendering.md";
const DIRECTIVE: &str = ".ai/directives/rye/core/create_threaded_directive.md";

/// A project with both signed documents, whose user space trusts their key.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.put(KNOWLEDGE, &seed("000"));
    scratch.put(DIRECTIVE, &seed("004"));
    let document = std::fs::read_to_string(seeds().join("trusted/6ea18199041a1ea8.toml"))
        .expect("the trust document");
    scratch.put_user(".ai/config/keys/trusted/6ea18199041a1ea8.toml", &document);
    scratch
}

fn verify(scratch: &Scratch, path: &str, text: &str) -> Result<(Coverage, Binding), Error> {
    match scratch.rye().verify(&scratch.project().join(path), text).result {
        Ok(Provenance::Signed(signature)) => Ok((signature.coverage(), signature.binding())),
        Err(VerifyError::Signature(error)) => Err(error),
        other => panic!("{other:?}"),
    }
}

fn text(scratch: &Scratch, path: &str) -> String {
    std::fs::read_to_string(scratch.project().join(path)).expect("the file")
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn the_whole_of_one_is_covered_and_only_the_metadata_of_the_other() {
    let scratch = scratch().with_policy(Policy::default().allow_metadata_only());
    let knowledge = text(&scratch, KNOWLEDGE);
    let directive = text(&scratch, DIRECTIVE);
    assert_eq!(
        verify(&scratch, KNOWLEDGE, &knowledge).unwrap(),
        (Coverage::Whole, Binding::ContentOnly)
    );
    assert_eq!(
        verify(&scratch, DIRECTIVE, &directive).unwrap(),
        (Coverage::MetadataOnly, Binding::ContentOnly)
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn a_directive_whose_body_is_not_covered_is_refused_by_default() {
    let scratch = scratch();
    let error = scratch
        .rye()
        .render(&RenderRequest::new("rye/core/create_threaded_directive".parse().unwrap()));
    let error = error.unwrap_err();
    assert_eq!(error.class(), rye::Class::Refused);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn one_changed_byte_is_tampering() {
    let scratch = scratch();
    let changed = text(&scratch, KNOWLEDGE).replacen("Prompt Structure", "Prompt structure", 1);
    assert!(matches!(verify(&scratch, KNOWLEDGE, &changed), Err(Error::Tampered { .. })));
}

/// SPEC 8.2 and 8.3, byte for byte: frame, raw permissions, body, returns, closing tag.
#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn the_prompt_of_the_directive_is_the_one_that_the_rules_say() {
    let scratch = scratch().with_policy(Policy::default().allow_metadata_only());
    let file = text(&scratch, DIRECTIVE);
    let mut request = RenderRequest::new("rye/core/create_threaded_directive".parse().unwrap());
    request.inputs = inputs(&[
        ("name", "tidy_notes"),
        ("category", "notes"),
        ("description", "Tidies"),
        ("complexity", "simple"),
        ("permissions_needed", "rye.file-system.*"),
        ("extends_from", "notes/base"),
        ("process_steps", "one step"),
    ]);
    let prompt = scratch.rye().render(&request).unwrap().prompt;

    let slice = |from: &str, to: &str| {
        let start = file.find(from).expect("the start");
        let end = start + file[start..].find(to).expect("the end") + to.len();
        &file[start..end]
    };
    let description = slice("<description>", "</description>");
    let permissions = slice("<permissions>", "</permissions>");
    let frame = format!(
        "<directive name=\"create_threaded_directive\">\n{description}\n{permissions}\n<process>\n"
    );
    assert!(prompt.starts_with(&frame), "{prompt}");

    let body = file
        .split("```\n\n<process>")
        .nth(1)
        .map(|rest| format!("<process>{rest}"))
        .expect("the body");
    let body =
        ["name", "category", "complexity", "permissions_needed", "extends_from", "process_steps"]
            .iter()
            .fold(body.trim().to_owned(), |body, name| {
                body.replace(&format!("{{input:{name}}}"), request.inputs[*name].as_str().unwrap())
            });
    let returns = "When you have completed all steps, return structured results:\n\
        `rye_execute(item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", parameters={\
        \"directive_path\": \"<Path to the created threaded directive file (string)>\", \
        \"signed\": \"<Whether the directive was successfully signed (string)>\"})`\n</directive>";
    assert_eq!(
        prompt,
        format!(
            "<directive name=\"create_threaded_directive\">\n{description}\n{permissions}\n{body}\n{returns}"
        )
    );
}
