//! Hooks over the spaces and the chain (SPEC 4.4, 7.3, 10.3, D10).

use rye_resolve::{ExtendsChain, PlacedHook, ResolveError};
use rye_sign::{Policy, Provenance};

use crate::world::{World, directive, id};

const FILE: &str = "config/agent/hooks.yaml";

/// A hooks file with hooks on `limit`, each with its id and further keys.
fn file(hooks: &[(&str, &str)]) -> String {
    let hooks = hooks.iter().map(|(id, keys)| {
        format!("  - {{id: {id}, event: limit, action: {{primary: sign, item_id: x}}{keys}}}\n")
    });
    format!("hooks:\n{}", hooks.collect::<String>())
}

/// A hooks file with one `resolve_extends` hook.
fn extending(when: &str, extends: &str) -> String {
    format!(
        "hooks:\n  - id: base\n    event: resolve_extends\n    when: {when}\n    extends: {extends}\n"
    )
}

fn chain(world: &World, leaf: &str) -> Result<ExtendsChain, ResolveError> {
    let library = world.library();
    library.chain(library.directive(&id(leaf)).unwrap())
}

fn ids(hooks: &[PlacedHook]) -> Vec<String> {
    hooks.iter().map(|hook| format!("{} {}", hook.layer, hook.hook.id.value)).collect()
}

fn hook(id: &str, item: &str) -> String {
    format!("<hook id=\"{id}\" event=\"error\"><execute item_type=\"tool\">{item}</execute></hook>")
}

#[track_caller]
fn refuses(world: &World, message: &str) {
    assert_eq!(world.error_text(&world.library().config_hooks().unwrap_err()), message);
}

#[test]
fn no_space_has_hooks() {
    assert!(World::new().library().config_hooks().unwrap().is_empty());
}

#[test]
fn files_of_all_spaces_count_by_layer_and_order() {
    let world = World::new();
    world.signed("project", FILE, &file(&[("late", ", order: 2"), ("early", ", order: -1")]));
    world.signed("system", FILE, &file(&[("net", ", layer: 4"), ("core", "")]));
    world.signed(
        "user",
        FILE,
        &file(&[("mine", ""), ("last", ", layer: 4"), ("beside", ", layer: 3")]),
    );
    let hooks = world.library().config_hooks().unwrap();
    assert_eq!(
        ids(&hooks),
        ["0 mine", "2 core", "3 early", "3 beside", "3 late", "4 last", "4 net"]
    );
    assert!(matches!(&hooks[0].provenance, Provenance::Signed(_)));
    assert_eq!(
        world.with_placeholders(&hooks[0].location.to_string()),
        "user/.ai/config/agent/hooks.yaml"
    );
}

#[test]
fn the_same_id_in_two_spaces_is_two_hooks() {
    let world = World::new();
    world.signed("project", FILE, &file(&[("a", "")]));
    world.signed("user", FILE, &file(&[("a", "")]));
    assert_eq!(ids(&world.library().config_hooks().unwrap()), ["0 a", "3 a"]);
}

#[test]
fn a_project_cannot_get_in_front_of_the_operator() {
    let world = World::new();
    world.signed("project", FILE, &file(&[("a", ", layer: 0"), ("b", ", layer: 4"), ("c", "")]));
    refuses(
        &world,
        "2 problems: hook `a` of `project/.ai/config/agent/hooks.yaml` is in layer 0; hooks of the project space are \
         in layer 3; hook `b` of `project/.ai/config/agent/hooks.yaml` is in layer 4; hooks of the project space are \
         in layer 3",
    );
}

#[test]
fn an_unsigned_file_refuses_all() {
    let world = World::new();
    world.signed("user", FILE, &file(&[("a", "")]));
    world.write("project", FILE, &file(&[("b", "")]));
    refuses(
        &world,
        "`project/.ai/config/agent/hooks.yaml` is not verified\nunsigned: there is no signature; \
         review the file and sign it with `rye sign`",
    );
}

#[test]
fn a_file_of_a_stranger_refuses_all() {
    let world = World::new();
    world.signed_by(&world.stranger, "project", FILE, &file(&[("b", "")]));
    assert!(world.library().config_hooks().unwrap_err().is_unverified());
}

#[test]
fn a_file_that_does_not_parse_refuses_all() {
    let world = World::new();
    world.signed("project", FILE, "hooks:\n  - id: a\n");
    let error = world.library().config_hooks().unwrap_err();
    let ResolveError::Unparseable { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.problems().len(), 1);
}

#[test]
fn a_hook_nearer_the_leaf_takes_the_place_of_an_inherited_one() {
    let world = World::new();
    let hooks = |hooks: &[String]| format!("<hooks>{}</hooks>", hooks.concat());
    let root = hooks(&[hook("a", "root/a"), hook("b", "root/b")]);
    world.directive("user", "root", &root);
    let leaf =
        directive("leaf", " extends=\"root\"", &hooks(&[hook("c", "leaf/c"), hook("a", "leaf/a")]));
    world.signed("project", "directives/leaf.md", &leaf);
    world.signed("project", FILE, &file(&[("late", "")]));
    world.signed("user", FILE, &file(&[("first", "")]));
    let chain = chain(&world, "leaf").unwrap();
    let items: Vec<_> = chain
        .hooks()
        .into_iter()
        .map(|hook| hook.hook.actions[0].value.item_id.clone().unwrap())
        .collect();
    assert_eq!(items, ["leaf/a", "root/b", "leaf/c"]);
    let all = world.library().hooks(&chain).unwrap();
    assert_eq!(ids(&all), ["0 first", "1 a", "1 b", "1 c", "3 late"]);
    assert_eq!(
        world.with_placeholders(&all[1].location.to_string()),
        "project/.ai/directives/leaf.md"
    );
    assert_eq!(
        world.with_placeholders(&all[2].location.to_string()),
        "user/.ai/directives/root.md"
    );
}

#[track_caller]
fn extends(world: &World, leaf: &str, expected: &[&str], by: Option<&str>) {
    let chain = chain(world, leaf).unwrap();
    let ids: Vec<&str> = chain.root_first().map(|link| link.id.as_str()).collect();
    assert_eq!(ids, expected);
    let found = chain.extended_by().map(|hook| world.with_placeholders(&hook.location.to_string()));
    assert_eq!(found.as_deref(), by);
}

/// `deploy/leaf`, `other` and the directives that they may extend.
fn family() -> World {
    let world = World::new();
    let inner = "<category>deploy</category>";
    let text = directive("leaf", " extends=\"own\"", inner);
    world.signed("project", "directives/deploy/leaf.md", &text);
    for name in ["own", "other", "team/base", "team/strict"] {
        world.directive("user", name, "");
    }
    world
}

#[test]
fn a_hook_says_what_a_directive_extends() {
    let world = family();
    world.signed("project", FILE, &extending("directive.category eq \"deploy\"", "team/base"));
    let by = Some("project/.ai/config/agent/hooks.yaml");
    extends(&world, "deploy/leaf", &["team/base", "deploy/leaf"], by);
    extends(&world, "other", &["other"], None);
}

#[test]
fn the_first_hook_that_applies_decides() {
    let world = family();
    world.signed("project", FILE, &extending("directive.id exists", "team/base"));
    world.signed("user", FILE, &extending("directive.id regex \"^deploy/\"", "team/strict"));
    let user = Some("user/.ai/config/agent/hooks.yaml");
    extends(&world, "deploy/leaf", &["team/strict", "deploy/leaf"], user);
    let project = Some("project/.ai/config/agent/hooks.yaml");
    extends(&world, "other", &["team/base", "other"], project);
}

#[test]
fn a_hook_sees_what_the_directive_extends_itself() {
    let world = family();
    let when = "directive.extends eq own";
    world.signed("user", FILE, &extending(&when.replace("own", "\"own\""), "team/base"));
    let by = Some("user/.ai/config/agent/hooks.yaml");
    extends(&world, "deploy/leaf", &["team/base", "deploy/leaf"], by);
    extends(&world, "other", &["other"], None);
}

#[test]
fn only_the_leaf_is_changed() {
    let world = family();
    world.signed("user", FILE, &extending("directive.name eq \"own\"", "team/base"));
    extends(&world, "deploy/leaf", &["own", "deploy/leaf"], None);
}

#[track_caller]
fn cannot_extend(world: &World, leaf: &str, message: &str) {
    assert_eq!(world.error_text(&chain(world, leaf).unwrap_err()), message);
}

#[test]
fn a_hook_that_names_what_is_not_there() {
    let world = family();
    world.signed("user", FILE, &extending("directive.id exists", "team/bse"));
    cannot_extend(
        &world,
        "other",
        "hook `base` of `user/.ai/config/agent/hooks.yaml` says what directive `other` extends; mend what it names, or narrow its `when`\n\
         directive `other` extends `team/bse`, which cannot be used\n\
         directive `team/bse` not found; did you mean `team/base`? looked in `project/.ai/directives`, \
         `user/.ai/directives`, `system/.ai/directives`, `builtin:directives`",
    );
}

#[test]
fn a_hook_that_lets_a_directive_extend_itself() {
    let world = family();
    world.signed("user", FILE, &extending("directive.id exists", "other"));
    cannot_extend(
        &world,
        "other",
        "hook `base` of `user/.ai/config/agent/hooks.yaml` says what directive `other` extends; mend what it names, or narrow its `when`\n\
         Circular extends chain: other (chain: other → other); remove `extends` from one of them",
    );
}

#[test]
fn a_hook_that_names_an_unsigned_directive() {
    let world = family();
    world.write("project", "directives/team/base.md", &directive("base", "", ""));
    world.signed("user", FILE, &extending("directive.id exists", "team/base"));
    assert!(chain(&world, "other").unwrap_err().is_unverified());
}

#[test]
fn without_verified_hooks_there_is_no_chain() {
    let world = family();
    world.write("project", FILE, &extending("directive.id exists", "team/base"));
    assert!(chain(&world, "other").unwrap_err().is_unverified());
    let library = world.library_with(Policy::default());
    assert!(library.directive(&id("other")).is_ok());
}
