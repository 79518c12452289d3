//! Chains of `extends`, their grants (SPEC 7.1, D5), and the declared name, category and version (SPEC 1.5).

use rye_parse::Spanned;
use rye_resolve::{ExtendsChain, ResolveError, declared_problems};

use crate::world::{World, directive, id};

fn extending(world: &World, space: &str, item: &str, parent: &str, inner: &str) {
    let text = directive(item, &format!(" extends=\"{parent}\""), inner);
    world.signed(space, &format!("directives/{item}.md"), &text);
}

fn chain(world: &World, leaf: &str) -> Result<ExtendsChain, ResolveError> {
    let library = world.library();
    library.chain(library.directive(&id(leaf)).unwrap())
}

#[track_caller]
fn refuses(world: &World, leaf: &str, message: &str) {
    assert_eq!(world.error_text(&chain(world, leaf).unwrap_err()), message);
}

#[track_caller]
fn grants(world: &World, leaf: &str, declaring: Option<&str>, patterns: &[&str]) {
    let chain = chain(world, leaf).unwrap();
    assert_eq!(chain.declaring().map(|link| link.id.as_str()), declaring);
    let grant = chain.grant().unwrap();
    let granted: Vec<String> = grant.patterns().iter().map(ToString::to_string).collect();
    assert_eq!(granted, patterns);
}

#[test]
fn the_chain_crosses_spaces() {
    let world = World::new();
    extending(&world, "project", "leaf", "team/base", "");
    extending(&world, "user", "team/base", "root", "");
    world.directive("system", "root", "");
    let chain = chain(&world, "leaf").unwrap();
    assert_eq!(chain.leaf().id.as_str(), "leaf");
    let ids: Vec<&str> = chain.root_first().map(|link| link.id.as_str()).collect();
    assert_eq!(ids, ["root", "team/base", "leaf"]);
}

#[test]
fn a_cycle() {
    let world = World::new();
    extending(&world, "project", "leaf", "a", "");
    extending(&world, "project", "a", "b", "");
    extending(&world, "project", "b", "a", "");
    refuses(
        &world,
        "leaf",
        "Circular extends chain: a (chain: leaf → a → b → a); remove `extends` from one of them",
    );
}

#[test]
fn an_unsigned_parent() {
    let world = World::new();
    extending(&world, "project", "leaf", "base", "");
    world.directive("user", "base", "");
    world.write("project", "directives/base.md", &directive("base", "", ""));
    let error = chain(&world, "leaf").unwrap_err();
    assert!(error.is_unverified());
    assert_eq!(
        world.error_text(&error),
        "directive `leaf` extends `base`, which cannot be used\n\
         `project/.ai/directives/base.md` is not verified\n\
         unsigned: there is no signature; review the file and sign it with `rye sign`"
    );
}

#[test]
fn a_parent_that_is_not_there() {
    let world = World::new();
    extending(&world, "project", "leaf", "base", "");
    refuses(
        &world,
        "leaf",
        "directive `leaf` extends `base`, which cannot be used\ndirective `base` not found; looked in \
         `project/.ai/directives`, `user/.ai/directives`, `system/.ai/directives`, `builtin:directives`",
    );
}

#[test]
fn a_parent_that_is_no_id() {
    let world = World::new();
    world.directive("project", "leaf", "");
    let library = world.library();
    // A directive file with this `extends` does not parse, so it is put in afterwards.
    let leaf = library.directive(&id("leaf")).unwrap().try_map(|mut leaf| {
        leaf.extends = Some(Spanned { value: "../base".to_owned(), span: 0..1 });
        Ok::<_, ResolveError>(leaf)
    });
    assert_eq!(
        world.error_text(&library.chain(leaf.unwrap()).unwrap_err()),
        "directive `leaf` extends `../base`, which is no item id\nitem id `../base` has a `..` segment; \
         write the path below the kind's folder",
    );
}

#[test]
fn no_directive_declares_permissions() {
    let world = World::new();
    extending(&world, "project", "leaf", "base", "");
    world.directive("project", "base", "");
    grants(&world, "leaf", None, &[]);
}

#[test]
fn the_nearest_that_declares() {
    let world = World::new();
    extending(&world, "project", "leaf", "mid", "");
    let own = "<permissions><execute><tool>rye/file-system/*</tool></execute></permissions>";
    extending(&world, "project", "mid", "base", own);
    world.directive("project", "base", "<permissions>*</permissions>");
    grants(&world, "leaf", Some("mid"), &["rye.execute.tool.rye.file-system.*"]);
}

#[test]
fn an_empty_block_declares() {
    let world = World::new();
    extending(&world, "project", "leaf", "base", "<permissions></permissions>");
    world.directive("project", "base", "<permissions>*</permissions>");
    grants(&world, "leaf", Some("leaf"), &[]);
}

#[test]
fn everything() {
    let world = World::new();
    world.directive("project", "leaf", "<permissions>*</permissions>");
    grants(&world, "leaf", Some("leaf"), &["rye.*"]);
}

#[test]
fn each_form_of_entry() {
    let world = World::new();
    world.directive(
        "project",
        "leaf",
        "<permissions><execute><tool>rye/bash/bash</tool><directive>*</directive></execute>\
         <search>*</search><fetch><knowledge>team/*</knowledge></fetch>\
         <cap>rye.sign.directive.a.b</cap></permissions>",
    );
    let mut expected = vec![
        "rye.execute.tool.rye.bash.bash",
        "rye.execute.directive.*",
        "rye.search.*",
        "rye.fetch.knowledge.team.*",
        "rye.sign.directive.a.b",
    ];
    expected.sort_unstable();
    grants(&world, "leaf", Some("leaf"), &expected);
}

#[test]
fn every_entry_that_is_no_pattern() {
    let world = World::new();
    let inner = "<permissions><execute><tool>a{b}</tool><tool>ok</tool><tool>c d</tool></execute></permissions>";
    world.directive("project", "leaf", inner);
    let error = chain(&world, "leaf").unwrap().grant().unwrap_err();
    let ResolveError::InvalidPermissions { problems, .. } = &error else { panic!("{error:?}") };
    let source = world.library().directive(&id("leaf")).unwrap().source;
    let places: Vec<_> = problems.iter().map(|problem| source.get(problem.span.clone())).collect();
    assert_eq!(places.len(), 2, "{error}");
    assert!(places.iter().zip(["a{b}", "c d"]).all(|(place, text)| place.unwrap().contains(text)));
}

#[track_caller]
fn declares(item: &str, text: &str, expected: &[(&str, &str, &str)]) {
    let world = World::new();
    world.signed("project", &format!("directives/{item}.md"), text);
    let item = world.library().directive(&id(item)).unwrap();
    let problems = declared_problems(item.content.value(), &item.id);
    let told: Vec<(&str, &str, String)> = problems
        .iter()
        .map(|p| (p.code(), item.source.get(p.span().clone()).unwrap(), p.to_string()))
        .collect();
    let told: Vec<(&str, &str, &str)> = told.iter().map(|(c, p, m)| (*c, *p, m.as_str())).collect();
    assert_eq!(told, expected);
}

#[test]
fn the_name_may_be_the_id_or_its_end() {
    declares(
        "deploy/staging",
        &directive("deploy/staging", "", "<category>deploy</category>"),
        &[],
    );
    declares("deploy/staging", &directive("staging", "", ""), &[]);
}

#[test]
fn every_false_claim() {
    declares(
        "deploy/staging",
        &directive("stage", "", "<category>ops</category>").replace("1.0.0", "1.0"),
        &[
            (
                "name-differs-from-id",
                "stage",
                "the name `stage` does not match the id `deploy/staging`; name it `staging` or \
                 `deploy/staging`",
            ),
            (
                "category-differs-from-folder",
                "ops",
                "the category `ops` does not match the folder `deploy`; write that, or move the file",
            ),
            (
                "version-not-semver",
                "1.0",
                "the version `1.0` is not a semantic version: unexpected end of input while parsing \
                 minor version number; write it as `1.0.0`",
            ),
        ],
    );
}

#[test]
fn a_category_at_the_top() {
    declares(
        "staging",
        &directive("staging", "", "<category>deploy</category>"),
        &[(
            "category-differs-from-folder",
            "deploy",
            "the category `deploy` does not match the top folder, which has no category; leave it \
             out, or move the file",
        )],
    );
}
