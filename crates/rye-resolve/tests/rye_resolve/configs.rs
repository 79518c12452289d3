//! Settings over the spaces; each layer is verified (SPEC 4.3, 4.4).

use rye_resolve::Space;
use serde_json::json;

use crate::world::{World, signed_text};

const NAME: &str = "agent/resilience";
const FILE: &str = "config/agent/resilience.yaml";

#[test]
fn no_space_has_it() {
    assert!(World::new().library().config("agent/nothing").unwrap().is_none());
}

#[test]
fn mappings_merge_and_the_nearest_wins() {
    let world = World::new();
    world.signed("user", FILE, "limits:\n  turns: 20\nmodels: [a, b]\n");
    world.signed(
        "project",
        "config/agent/resilience.toml",
        "models = [\"c\"]\n[limits]\ndepth = 2\n",
    );
    let config = world.library().config(NAME).unwrap().unwrap();
    assert_eq!(config.merged(), json!({"limits": {"turns": 20, "depth": 2}, "models": ["c"]}));
    let spaces: Vec<Space> = config.layers().iter().map(|layer| layer.location.space).collect();
    assert_eq!(spaces, [Space::Project, Space::User, Space::Builtin]);
}

const TOML: &str = "config/agent/resilience.toml";

#[track_caller]
fn refuses(world: &World, message: &str) {
    let error = world.library().config(NAME).unwrap_err();
    assert_eq!(world.error_text(&error), message);
}

#[test]
fn an_unsigned_layer_refuses_the_whole() {
    let world = World::new();
    world.write("project", FILE, "limits:\n  turns: 1000\n");
    refuses(
        &world,
        "`project/.ai/config/agent/resilience.yaml` is not verified\nunsigned: there is no signature; \
         review the file and sign it with `rye sign`",
    );
}

#[test]
fn a_tampered_layer_below_a_good_one_refuses_the_whole() {
    let world = World::new();
    world.signed("project", FILE, "limits:\n  turns: 3\n");
    let signed = signed_text(&world.operator, FILE, "limits:\n  turns: 4\n");
    world.write("user", FILE, &signed.replace('4', "9"));
    assert!(world.library().config(NAME).unwrap_err().is_unverified());
}

#[test]
fn a_signed_layer_that_does_not_parse_refuses_the_whole() {
    let world = World::new();
    world.signed("project", FILE, "- a list\n");
    let error = world.library().config(NAME).unwrap_err();
    assert_eq!(
        world.with_placeholders(&error.to_string()),
        "`project/.ai/config/agent/resilience.yaml` cannot be parsed: line 1, column 1: the YAML document is a list, \
         not a mapping; write `key: value` pairs"
    );
}

/// The error has the place and the kind of the problem, and no text of the file, which may hold secrets.
#[test]
fn a_layer_that_does_not_parse_is_told_without_its_text() {
    let mut wrong = Vec::new();
    for (file, text, told) in [
        (
            FILE,
            "a:\n  key: [sk-1\n  other: 2\n",
            "line 4, column 8: invalid YAML: did not find expected",
        ),
        (FILE, "a: 1\nkey: sk-1: sk-1\n", "line 3, column 10: invalid YAML: mapping values"),
        (FILE, "sk-1: 1\nsk-1: 2\n", "line 3, column 1: a key is given twice; keep one of them"),
        (FILE, "a: *sk-1\n", "line 2, column 4: invalid YAML"),
        (FILE, "a: !sk-1 2\n", "line 2, column 4: a YAML tag is not supported"),
        (FILE, "? [sk-1]\n: 2\n", "line 2, column "),
        (FILE, "a: 'sk-1\n", "line 3, column 1: invalid YAML: found"),
        (TOML, "a = sk-1\n", "line 2, column 5: invalid TOML"),
        (TOML, "sk-1\n", "line 2, column "),
        (TOML, "sk-1 = 1\nsk-1 = 2\n", "line 3, column 1: invalid TOML"),
        (TOML, "a = \"sk-1\n", "line 2, column "),
    ] {
        let world = World::new();
        world.signed("project", file, text);
        let error = world.library().config(NAME).unwrap_err();
        let message = world.with_placeholders(&error.to_string());
        let start = format!("`project/.ai/{file}` cannot be parsed: {told}");
        if !message.starts_with(&start) || format!("{error:?}").contains("sk-1") {
            wrong.push(message);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn json_cannot_be_signed() {
    let world = World::new();
    world.write("project", "config/agent/resilience.json", "{}");
    refuses(
        &world,
        "`project/.ai/config/agent/resilience.json` cannot carry a signature, as its file type has no \
         comments; write it as YAML or TOML and sign that",
    );
}

#[test]
fn every_bad_layer_is_reported() {
    let world = World::new();
    world.write("project", FILE, "a: 1\n");
    world.write("project", "config/agent/resilience.toml", "a = 1\n");
    world.write("user", "config/agent/resilience.json", "{}");
    let error = world.library().config(NAME).unwrap_err();
    assert_eq!(error.problems().len(), 2);
    assert!(error.is_unverified());
}

#[test]
fn a_name_that_is_no_id() {
    refuses_name(
        "../agent",
        "`../agent` is not the name of a config\nitem id `../agent` has a `..` segment; write the path \
         below the kind's folder",
    );
}

#[track_caller]
fn refuses_name(name: &str, message: &str) {
    let world = World::new();
    let error = world.library().config(name).unwrap_err();
    assert_eq!(world.error_text(&error), message);
}
