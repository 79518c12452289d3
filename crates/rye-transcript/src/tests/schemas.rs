//! The JSON schemas of the payloads, which `rye schema run_stream` publishes.

use schemars::SchemaGenerator;
use serde_json::{Map, Value};

use super::*;

#[test]
fn every_payload_has_a_schema() {
    let mut generator = SchemaGenerator::default();
    let kinds = EventKind::ALL.iter().chain([&EventKind::Unknown]);
    let payloads: Map<String, Value> = kinds
        .map(|kind| (kind.name().to_owned(), kind.payload_schema(&mut generator).to_value()))
        .collect();
    let definitions = generator.take_definitions(true);
    let schemas = json!({ "payloads": payloads, "definitions": definitions });
    insta::assert_snapshot!(format!("{schemas:#}"));
}

/// What is recorded has the members that its schema names, and all that it requires.
#[test]
fn a_record_has_the_members_of_its_schema() {
    let mut generator = SchemaGenerator::default();
    let mut transcript = Transcript::new(&thread());
    transcript.tell(&[start(&KEY)]);
    let checkpoint = transcript.reading().records[1].event().unwrap();
    let samples = samples::events().into_iter().map(|(_, event)| event);
    let samples = samples.filter(|event| event.kind() != EventKind::Checkpoint);
    for event in samples.chain([checkpoint]) {
        let reference = event.kind().payload_schema(&mut generator).to_value();
        let name = reference["$ref"].as_str().unwrap().trim_start_matches("#/$defs/");
        let schema = &generator.definitions()[name];
        let payload: Map<String, Value> = serde_json::from_str(event.payload().get()).unwrap();
        for member in payload.keys() {
            assert!(schema["properties"].get(member).is_some(), "{}: {member}", event.name());
        }
        for required in schema["required"].as_array().unwrap() {
            assert!(
                payload.contains_key(required.as_str().unwrap()),
                "{}: {required}",
                event.name()
            );
        }
    }
}
