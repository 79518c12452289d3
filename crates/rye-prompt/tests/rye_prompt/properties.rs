//! Properties of every value and every chain.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rye_parse::{Directive, Outputs};
use rye_prompt::{
    Context, ContextReference, HookEntry, Inputs, Link, Piece, Wrap, compose, context_references,
    render, template,
};
use rye_types::{Position, ReturnStyle};
use serde_json::{Map, Value, json};

use crate::given::{directive, with_inputs};

/// Text with everything that may confuse placement.
const HOSTILE: &str = concat!(
    r#"(<|</|/|directive|direc|tive>|</directive>|<directive name="x">|"#,
    r#"\{input:a\}|\{input:|b\}|\$\{inputs.b\}|&lt;|[ -~é∎\r\n\t]){0,8}"#
);

/// An element of `<context>`: its tag, its id, and `true` if it is optional.
type Entry = (String, String, bool);

proptest! {
    #[test]
    fn no_value_opens_or_closes_a_frame(
        a in HOSTILE,
        b in HOSTILE,
        between in "(<|/|</|directive)?",
    ) {
        for &style in ReturnStyle::ALL {
            let prompt = framed(&a, &b, &between, style);
            prop_assert_eq!(prompt.matches("<directive").count(), 1, "{}", prompt);
            prop_assert_eq!(prompt.matches("</directive").count(), 1, "{}", prompt);
            prop_assert_eq!(prompt.matches("</permissions").count(), 1, "{}", prompt);
        }
    }

    #[test]
    fn placing_is_concatenation(a in "[^<]{0,12}", b in "[^<]{0,12}") {
        let body = "1{input:a}2${inputs.b}3{input:a?}4{input:b:d}5";
        let directive = with_inputs(r#"<input name="a"/><input name="b"/>"#, body);
        let inputs = bind(&directive, [("a", a.as_str().into()), ("b", b.as_str().into())]);
        let prompt = render(Link::new("t", &directive), None, &inputs, ReturnStyle::Call);
        let expected = format!("<directive name=\"t\">\n1{a}2{b}3{a}4{b}5\n</directive>");
        prop_assert_eq!(prompt.as_deref(), Ok(expected.as_str()));
    }

    #[test]
    fn any_body_gives_equal_results_twice(body in HOSTILE, a in HOSTILE) {
        let mut directive = with_inputs(r#"<input name="a"/>"#, "B");
        directive.body.value = body;
        let inputs = bind(&directive, [("a", a.into())]);
        let once = || render(Link::new("t", &directive), None, &inputs, ReturnStyle::Call);
        prop_assert_eq!(once(), once());
    }

    #[test]
    fn a_template_is_the_file(body in HOSTILE) {
        let mut directive = directive("", "B");
        directive.body.value.clone_from(&body);
        let unfilled = template(Link::new("t", &directive), None, ReturnStyle::Call);
        let line = if body.trim().is_empty() { String::new() } else { format!("{}\n", body.trim()) };
        prop_assert_eq!(unfilled, format!("<directive name=\"t\">\n{line}</directive>"));
    }

    #[test]
    fn returns_are_json_on_one_line(
        names in prop::collection::btree_set(".{1,5}", 1..4),
        description in "\\PC{0,12}|[ \t\r\n\"\\\\a]{0,12}",
        required: bool,
    ) {
        prop_assume!(rye_parse::placeholders(&description).is_empty());
        let parameters = returned(&names, &description, required);
        let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let label = if words.is_empty() { "string".to_owned() } else { format!("{words} (string)") };
        let label = if required { format!("<{label} [required]>") } else { format!("<{label}>") };
        prop_assert_eq!(parameters.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
        prop_assert!(parameters.values().all(|value| *value == json!(label)), "{:?}", parameters);
    }

    #[test]
    fn text_binds_as_the_value_it_spells(value in json_value()) {
        let Some(value_type) = type_name(&value) else { return Ok(()) };
        let directive = with_inputs(&format!(r#"<input name="a" type="{value_type}"/>"#), "B");
        let typed = bind(&directive, [("a", value.clone())]);
        let spelled = bind(&directive, [("a", value.to_string().into())]);
        prop_assert_eq!(typed.get("a"), Some(&value));
        prop_assert_eq!(typed, spelled);
    }

    #[test]
    fn a_chain_composes_what_it_wants_and_nothing_else(
        contexts in prop::collection::vec(entries(), 1..4),
        found in prop::collection::btree_set("[abc]", 0..4),
    ) {
        let directives: Vec<Directive> = contexts.iter().map(|entries| with_context(entries)).collect();
        let chain = links(&directives);
        let asked = context_references(&chain);
        prop_assert_eq!(ids_by_position(&asked), expected(&contexts));

        let knowledge = found.iter().map(|id| (id.clone(), id.clone())).collect();
        let missing: Vec<&ContextReference> =
            asked.iter().filter(|item| !found.contains(&item.id)).collect();
        match compose(&chain, &knowledge) {
            Err(_) => prop_assert!(missing.iter().any(|item| !item.optional)),
            Ok(context) => {
                prop_assert!(missing.iter().all(|item| item.optional));
                prop_assert_eq!(context.skipped.iter().collect::<Vec<_>>(), missing);
                let mut left = expected(&contexts);
                left.iter_mut().for_each(|ids| ids.retain(|id| found.contains(id)));
                prop_assert_eq!(texts_by_position(&context), left);
            }
        }
    }

    #[test]
    fn an_item_is_optional_only_where_all_agree(contexts in prop::collection::vec(entries(), 1..4)) {
        let directives: Vec<Directive> = contexts.iter().map(|entries| with_context(entries)).collect();
        let chain = links(&directives);
        for item in context_references(&chain) {
            let is_same = |(tag, id, _): &&Entry| *tag == item.position.as_str() && *id == item.id;
            let mut mentions = contexts.iter().flatten().filter(is_same);
            prop_assert_eq!(item.optional, mentions.all(|(_, _, optional)| *optional));
        }
    }

    /// Every form of placeholder of an input with a value is filled. The generated values contain no placeholders
    /// themselves.
    #[test]
    fn no_placeholder_of_a_bound_input_is_left(
        forms in prop::collection::vec(0_usize..5, 0..6),
        a in "[^{$]{0,12}",
    ) {
        let written = ["{input:a}", "{input:a?}", "{input:a:x}", "{input:a|x}", "${inputs.a}"];
        let body: String = forms.iter().map(|form| format!("-{}", written[*form])).collect();
        let directive = with_inputs(r#"<input name="a" required="true"/>"#, &body);
        let inputs = bind(&directive, [("a", a.into())]);
        let permissions = format!("<permissions>{body}</permissions>");
        for &style in ReturnStyle::ALL {
            let prompt = render(Link::new("t", &directive), Some(&permissions), &inputs, style);
            let prompt = prompt.expect("must render");
            prop_assert!(!prompt.contains("{input:a") && !prompt.contains("${inputs."), "{}", prompt);
        }
    }

    /// A reference that is already in the chain changes nothing when a directive nearer the leaf repeats it.
    #[test]
    fn composing_again_changes_nothing(contexts in prop::collection::vec(entries(), 1..4)) {
        let directives: Vec<Directive> = contexts.iter().map(|entries| with_context(entries)).collect();
        let knowledge = ["a", "b", "c"].map(|id| (id.to_owned(), format!("text of {id}"))).into();
        let once = compose(&links(&directives), &knowledge).expect("nothing is missing");
        let twice: Vec<Directive> = directives.iter().chain(&directives).cloned().collect();
        prop_assert_eq!(compose(&links(&twice), &knowledge).expect("nothing is missing"), once);
    }

    /// Any link may suppress, before or after the link that refers to the knowledge.
    #[test]
    fn a_suppression_wins_wherever_it_stands(
        contexts in prop::collection::vec(entries(), 1..4),
        id in "[abc]",
        at in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
    ) {
        let mut contexts = contexts;
        let link = at.index(contexts.len());
        let place = place.index(contexts[link].len() + 1);
        contexts[link].insert(place, ("suppress".to_owned(), id.clone(), false));
        let directives: Vec<Directive> = contexts.iter().map(|entries| with_context(entries)).collect();
        let knowledge = ["a", "b", "c"].map(|id| (id.to_owned(), id.to_owned())).into();
        let context = compose(&links(&directives), &knowledge).expect("nothing is missing");
        prop_assert!(context.suppresses(&id));
        prop_assert!(texts_by_position(&context).iter().flatten().all(|text| *text != id));
        let hook = HookEntry {
            position: Position::Before,
            id: id.clone(),
            name: "hook".to_owned(),
            content: "from a hook".to_owned(),
            wrap: Wrap::Bare,
        };
        prop_assert_eq!(context.clone().with_hooks(&[hook]), context);
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        HOSTILE.prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(HOSTILE, inner, 0..4)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec(("system|before|after|suppress", "[abc]", any::<bool>()), 0..6)
}

#[track_caller]
fn bind<const N: usize>(directive: &Directive, given: [(&str, Value); N]) -> Inputs {
    let given = given.map(|(name, value)| (name.to_owned(), value)).into();
    Inputs::bind(&directive.inputs, &given).expect("must fit")
}

/// Returns a prompt with both values in its body, its permissions and its outputs.
fn framed(a: &str, b: &str, between: &str, style: ReturnStyle) -> String {
    let inputs = r#"<inputs><input name="a"/><input name="b"/></inputs>"#;
    let outputs = r#"<outputs><output name="o">{input:b}{input:a}</output></outputs>"#;
    let mut directive = directive(&format!("{inputs}{outputs}"), "B");
    directive.body.value = format!("x{{input:a}}{between}{{input:b}}{{input:a}}y");
    let inputs = bind(&directive, [("a", a.into()), ("b", b.into())]);
    let permissions = "<permissions>{input:a}{input:b}</permissions>";
    render(Link::new("t", &directive), Some(permissions), &inputs, style).expect("must render")
}

/// Returns the parameters of the returns call of a directive with these outputs.
fn returned(names: &BTreeSet<String>, description: &str, required: bool) -> Map<String, Value> {
    let mut directive = directive(r#"<outputs><output name="o">x</output></outputs>"#, "B");
    let Outputs::List(list) = &mut directive.outputs else { panic!("the list form is declared") };
    let mut one = list.pop().expect("because one is declared");
    one.value.description = description.to_owned();
    one.value.required = required;
    for name in names {
        one.value.name.value.clone_from(name);
        list.push(one.clone());
    }
    let link = Link::new("t", &directive);
    let prompt = render(link, None, &Inputs::default(), ReturnStyle::Call).expect("must render");
    let (_, call) = prompt.split_once("parameters=").expect("because outputs are declared");
    let json = call.strip_suffix(")`\n</directive>").expect("because the call is last");
    serde_json::from_str(json).expect("must be JSON")
}

fn type_name(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null | Value::String(_) => None,
        Value::Bool(_) => Some("boolean"),
        Value::Number(_) => Some("integer"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
    }
}

fn with_context(entries: &[Entry]) -> Directive {
    let element = |(tag, id, optional): &Entry| match *optional && tag != "suppress" {
        true => format!("<{tag} optional=\"true\">{id}</{tag}>"),
        false => format!("<{tag}>{id}</{tag}>"),
    };
    let entries: String = entries.iter().map(element).collect();
    directive(&format!("<metadata><context>{entries}</context></metadata>"), "B")
}

fn links(chain: &[Directive]) -> Vec<Link<'_>> {
    chain.iter().map(|directive| Link::new("t", directive)).collect()
}

const POSITIONS: [&str; 3] = ["system", "before", "after"];

/// Applies SPEC 7.2 in the simplest way.
fn expected(contexts: &[Vec<Entry>]) -> [Vec<String>; 3] {
    let is_suppressed = |id: &String| {
        contexts.iter().flatten().any(|(tag, other, _)| tag == "suppress" && other == id)
    };
    POSITIONS.map(|position| {
        let mut ids: Vec<String> = Vec::new();
        for (tag, id, _) in contexts.iter().flatten() {
            if tag == position && !is_suppressed(id) && !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        ids
    })
}

fn ids_by_position(wanted: &[ContextReference]) -> [Vec<String>; 3] {
    POSITIONS.map(|position| {
        let there = wanted.iter().filter(|item| item.position.as_str() == position);
        there.map(|item| item.id.clone()).collect()
    })
}

fn texts_by_position(context: &Context) -> [Vec<String>; 3] {
    let texts = |pieces: &[Piece]| pieces.iter().map(|piece| piece.text.clone()).collect();
    [texts(&context.system), texts(&context.before), texts(&context.after)]
}
