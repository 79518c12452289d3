//! The combination of layers, and the messages of refusals.

use super::*;
use crate::pattern::PatternError;

fn layer(name: LayerName, patterns: &[&str]) -> Layer {
    let patterns: Result<Grant, PatternError> =
        patterns.iter().map(|pattern| pattern.parse::<Pattern>()).collect();
    Layer::new(name, patterns.unwrap())
}

fn directive(patterns: &[&str]) -> Layer {
    layer(LayerName::Directive("deploy/staging".to_owned()), patterns)
}

fn everything(name: LayerName) -> Layer {
    Layer::new(name, Grant::everything())
}

/// Checks the answer of an authority with these layers: `None` if it allows the capability, else the message.
#[track_caller]
fn check(layers: &[Layer], capability: &str, expected: Option<&str>) {
    let (root, others) = layers.split_first().unwrap();
    let authority = others
        .iter()
        .cloned()
        .fold(Authority::new(root.clone()), |authority, layer| authority.narrow(layer));
    let capability: Capability = capability.parse().unwrap();
    let answer = authority.permit(&capability.clone().into());
    assert_eq!(authority.allows(&capability), answer.is_ok());
    match &answer {
        Ok(permit) => {
            assert_eq!((permit.capability(), permit.authority()), (&capability, &authority));
        }
        Err(denied) => assert!(denied.smallest.matches(&capability)),
    }
    assert_eq!(answer.map_err(|denied| denied.to_string()).err().as_deref(), expected);
}

#[test]
fn every_layer_has_to_allow() {
    let operator = everything(LayerName::Operator);
    check(std::slice::from_ref(&operator), "rye.execute.tool.x", None);
    check(&[operator.clone(), directive(&["rye.execute.tool.x"])], "rye.execute.tool.x", None);
    check(&[directive(&["rye.execute.tool.x"]), operator], "rye.execute.tool.x", None);
}

#[test]
fn a_refusal_names_its_layer_and_what_to_add_there() {
    let operator = everything(LayerName::Operator);
    check(
        &[operator.clone(), directive(&["rye.execute.tool.y"])],
        "rye.execute.tool.rye.bash",
        Some(
            "`rye.execute.tool.rye.bash` is not allowed by the directive `deploy/staging` (add \
             `<execute><tool>rye.bash</tool></execute>` to its `<permissions>`)",
        ),
    );
    check(
        &[layer(LayerName::Operator, &["rye.load.*"])],
        "rye.sign.knowledge.a",
        Some(
            "`rye.sign.knowledge.a` is not allowed by the operator's policy (add `rye.sign.knowledge.a` to the `grants` of its \
             `config/trust.yaml`)",
        ),
    );
    check(
        &[operator.clone(), layer(LayerName::Signer("6ea18199041a1ea8".to_owned()), &[])],
        "rye.load.knowledge.a",
        Some(
            "`rye.load.knowledge.a` is not allowed by the signing key `6ea18199041a1ea8` (add \
             `rye.load.knowledge.a` to the `grants` of its trust document)",
        ),
    );
    check(
        &[operator, layer(LayerName::Thread("deploy-1".to_owned()), &["rye.load.tool.*"])],
        "rye.load.knowledge.a",
        Some(
            "`rye.load.knowledge.a` is not allowed by the ancestor thread `deploy-1` (start it with \
             `rye.load.knowledge.a` granted)",
        ),
    );
}

#[test]
fn all_layers_that_refuse_are_named_outermost_first() {
    let layers = [
        layer(LayerName::Operator, &[]),
        everything(LayerName::Thread("a".to_owned())),
        directive(&["rye.load.*"]),
    ];
    check(
        &layers,
        "rye.sign.tool.x",
        Some(
            "`rye.sign.tool.x` is not allowed by the operator's policy (add `rye.sign.tool.x` to the `grants` of its \
             `config/trust.yaml`), nor by the directive `deploy/staging` (add `<sign><tool>x</tool></sign>` to its `<permissions>`)",
        ),
    );
}

#[test]
fn nothing_denies_everything() {
    let message = "`rye.load.tool.x` is not allowed by the default authority (run it with an authority that is \
                   narrowed from the operator's)";
    let capability: Capability = "rye.load.tool.x".parse().unwrap();
    for authority in [Authority::denied(), Authority::default()] {
        assert_eq!(authority.permit(&capability.clone().into()).unwrap_err().to_string(), message);
        // Narrowing by everything does not widen it.
        let narrowed = authority.narrow(everything(LayerName::Operator));
        assert_eq!(
            narrowed.permit(&capability.clone().into()).unwrap_err().layer,
            LayerName::Nobody
        );
    }
    check(
        &[Layer::new(LayerName::Operator, Grant::default())],
        "rye.load.tool.x",
        Some(
            "`rye.load.tool.x` is not allowed by the operator's policy (add `rye.load.tool.x` to the `grants` of its \
             `config/trust.yaml`)",
        ),
    );
}

#[test]
fn what_is_to_be_added_allows_it() {
    let capability: Capability = "rye.execute.tool.rye.file-system.read".parse().unwrap();
    let denied = Authority::denied().permit(&capability.clone().into()).unwrap_err();
    let opened = Authority::new(Layer::new(
        LayerName::Operator,
        Grant::nothing().with(denied.smallest.clone()),
    ));
    assert!(opened.permit(&capability.clone().into()).is_ok());
    let id = capability.dotted_id();
    assert_eq!(Grant::of_items("execute", "tool", id).unwrap().patterns(), [denied.smallest]);
}

#[test]
fn a_kind_is_closed_by_the_first_layer_that_allows_no_item_of_it() {
    let authority =
        Authority::new(layer(LayerName::Operator, &["rye.fetch.*", "rye.execute.directive.a"]))
            .narrow(directive(&["rye.search.knowledge.a?", "rye.execute.*"]));
    let closed =
        |primary, kind| authority.closed_by(primary, kind).map(|layer| layer.name().to_string());
    assert_eq!(closed(Primary::Search, Kind::Knowledge), None);
    assert_eq!(closed(Primary::Execute, Kind::Directive), None);
    assert_eq!(
        closed(Primary::Search, Kind::Tool).as_deref(),
        Some("the directive `deploy/staging`")
    );
    assert_eq!(closed(Primary::Execute, Kind::Tool).as_deref(), Some("the operator's policy"));
    assert!(Authority::denied().closed_by(Primary::Load, Kind::Tool).is_some());
}

/// A search is permitted if all layers allow one common capability. It is not enough that each layer allows some.
#[test]
fn some_item_has_to_be_allowed_by_every_layer() {
    for (layers, expected) in [
        (vec![vec!["rye.search.*"]], Some("rye.search.knowledge.x")),
        (
            vec![vec!["rye.search.*"], vec!["rye.search.knowledge.notes.*"]],
            Some("rye.search.knowledge.notes"),
        ),
        (
            vec![vec!["rye.search.knowledge.*.z"], vec!["rye.fetch.knowledge.a*"]],
            Some("rye.search.knowledge.a.z"),
        ),
        (
            vec![vec!["rye.search.knowledge.a", "rye.search.knowledge.b"], vec!["rye.*.b"]],
            Some("rye.search.knowledge.b"),
        ),
        (vec![vec!["rye.search.knowledge.a"], vec!["rye.search.knowledge.b"]], None),
        (vec![vec!["rye.search.tool.*"]], None),
        (vec![vec!["rye.load.*"], vec!["rye.*"]], None),
        (vec![vec!["rye.*"], vec![]], None),
    ] {
        let everybody = Authority::new(everything(LayerName::Operator));
        let authority = layers.iter().fold(everybody, |authority, patterns| {
            authority.narrow(layer(LayerName::Client, patterns))
        });
        let permit = authority.permit_some(Primary::Search, Kind::Knowledge);
        assert_eq!(permit.as_ref().map(|it| it.capability().as_str()), expected, "{layers:?}");
    }
}

/// The rules of the operator, the project, signers and clients apply to functions. A directive and an ancestor thread
/// grant items by their ids (SPEC 9.6b).
#[test]
fn a_function_behind_an_item_needs_every_layer_that_is_no_directive() {
    let invocation = Invocation::new(
        "rye.execute.tool.t.x".parse().unwrap(),
        [
            "rye.execute.tool.t.x".parse().unwrap(),
            "rye.execute.tool.rye.bash.bash".parse().unwrap(),
        ],
    );
    assert_eq!(invocation.functions().len(), 1);
    for (name, is_refused) in [
        (LayerName::Nobody, true),
        (LayerName::Operator, true),
        (LayerName::Project, true),
        (LayerName::Signer("56dbf7b2d9ce86ed".to_owned()), true),
        (LayerName::Client, true),
        (LayerName::Directive("deploy".to_owned()), false),
        (LayerName::Thread("deploy-1".to_owned()), false),
    ] {
        let root = Authority::new(everything(LayerName::Operator));
        let authority = root.narrow(layer(name.clone(), &["rye.execute.tool.t.*"]));
        let answer = authority.permit(&invocation);
        assert_eq!(answer.is_err(), is_refused, "{name}");
        let Err(denied) = answer else { continue };
        assert_eq!((&denied.layer, denied.others().count()), (&name, 0));
        let message = denied.to_string();
        let expected = "`rye.execute.tool.rye.bash.bash`, which `rye.execute.tool.t.x` stands for, is not allowed by";
        assert!(message.starts_with(expected), "{message}");
    }
}

/// The caller can add everything at once, and does not meet one refusal after the other.
#[test]
fn all_that_a_layer_lacks_for_a_call_is_named() {
    let function = |id: &str| format!("rye.execute.tool.rye.{id}").parse::<Capability>().unwrap();
    let invocation = Invocation::new(
        "rye.execute.tool.t.x".parse().unwrap(),
        [function("bash.bash"), function("web.fetch")],
    );
    let signer = layer(
        LayerName::Signer("6ea18199041a1ea8".to_owned()),
        &["rye.execute.tool.t.*", "rye.execute.tool.rye.web.*"],
    );
    let authority = Authority::new(layer(LayerName::Client, &[])).narrow(signer);
    assert_eq!(
        authority.permit(&invocation).unwrap_err().to_string(),
        "`rye.execute.tool.t.x` is not allowed by what clients of this server may do (the operator allows it with `--allow \
         rye.execute.tool.t.x --allow rye.execute.tool.rye.bash.bash --allow rye.execute.tool.rye.web.fetch`; \
         that allows the whole function behind the tool as well, such as every command of a shell; a directive that calls the tool \
         needs only `--allow rye.execute.directive.ID`), nor by the signing \
         key `6ea18199041a1ea8` (add `rye.execute.tool.rye.bash.bash` to the `grants` of its trust document)"
    );
}

/// What a client is told about a whole function depends on whether it lacks one.
#[test]
fn a_client_is_warned_where_it_lacks_a_function() {
    let function = "rye.execute.tool.rye.bash.bash".parse().unwrap();
    let invocation = Invocation::new("rye.execute.tool.t.x".parse().unwrap(), [function]);
    for (granted, expected) in [
        ("rye.execute.tool.t.*", true),
        ("rye.load.*", true),
        ("rye.execute.tool.rye.bash.*", false),
    ] {
        let authority = Authority::new(layer(LayerName::Client, &[granted]));
        let message = authority.permit(&invocation).unwrap_err().to_string();
        assert_eq!(message.contains("that allows the whole function"), expected, "{message}");
    }
}
