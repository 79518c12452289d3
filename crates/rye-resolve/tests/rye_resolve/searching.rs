//! Results of searches, their order, and the files that a search refuses.

use rye_resolve::{Library, SearchQuery, SearchResults};
use rye_sign::Policy;
use rye_types::ItemKind;

use crate::world::{World, directive, id};

/// Id, title, description, tags and body of knowledge entries.
const ENTRIES: &[[&str; 5]] = &[
    [
        "ops/deploy",
        "Deploy the API",
        "How a release reaches staging.",
        "ops, release",
        "Build it.\nThen push to staging.",
    ],
    [
        "ops/rollback",
        "Undo a deployment",
        "What to do when it fails.",
        "ops",
        "Find the release notes.\nDeploy the one before.",
    ],
    [
        "ops/on-call",
        "Who is called",
        "The rota.",
        "ops, people",
        "Call the lead.\nThe notes of a release name whom to ask.",
    ],
    ["style/release-notes", "Notes of a release", "", "writing", "One line for each change."],
    [
        "style/commits",
        "Commit messages",
        "",
        "writing, C++",
        "Say why, in one line. Deploy often, and deploy small.",
    ],
    ["lang/ja", "検索の手引き", "", "", "文書を検索する。"],
    ["lang/de", "Größe und Maß", "", "", "Straße, 2024."],
];

fn world() -> World {
    let world = World::new();
    ENTRIES.iter().for_each(|entry| write(&world, entry));
    world
}

fn write(world: &World, [id, title, description, tags, body]: &[&str; 5]) {
    let text = format!(
        "```yaml\ntitle: \"{title}\"\ndescription: \"{description}\"\ntags: [{tags}]\n```\n\n{body}\n"
    );
    world.signed("project", &format!("knowledge/{id}.md"), &text);
}

fn query(text: &str) -> SearchQuery {
    text.parse().unwrap()
}

fn ids(results: &SearchResults) -> Vec<&str> {
    results.hits.iter().map(|hit| hit.item.id.as_str()).collect()
}

#[track_caller]
fn check(library: &Library, text: &str, expected: &[&str]) {
    let results = library.search(&query(text));
    assert_eq!(ids(&results), expected, "{text}");
    assert_eq!(results.n_matched, expected.len());
    assert!(results.refused.is_empty());
}

#[test]
fn ranking() {
    #[track_caller]
    fn ranks(name: &str, text: &str, expected: &[&str]) {
        let results = world().library().search(&query(text));
        assert_eq!(ids(&results), expected, "{name}");
    }
    ranks("id, title and body", "deploy", &["ops/deploy", "ops/rollback", "style/commits"]);
    ranks(
        "more words before fewer",
        "deploy staging",
        &["ops/deploy", "ops/rollback", "style/commits"],
    );
    ranks(
        "id and title before body before a part",
        "release notes",
        &["style/release-notes", "ops/rollback", "ops/on-call", "ops/deploy"],
    );
    ranks("the last segment", "rollback", &["ops/rollback"]);
    ranks("a whole id", "ops/on-call", &["ops/on-call"]);
    ranks("a folder", "writing style", &["style/commits", "style/release-notes"]);
    ranks("a tag", "people", &["ops/on-call"]);
    ranks("a description", "rota", &["ops/on-call"]);
    ranks(
        "a rare word before a frequent one",
        "one rota",
        &["ops/on-call", "style/release-notes", "ops/rollback", "style/commits"],
    );
    ranks("nothing", "kubernetes", &[]);
    ranks("an item of the program", "identity", &["rye/identity"]);
}

#[test]
fn words() {
    let world = world();
    let library = world.library();
    check(&library, "GRÖSSE", &[]);
    check(&library, "GRÖßE", &["lang/de"]);
    check(&library, "rol*", &["ops/rollback"]);
    check(&library, "rollb", &["ops/rollback"]);
    check(&library, "検索", &["lang/ja"]);
    check(&library, "索検", &[]);
    check(&library, "on-call", &["ops/on-call"]);
}

#[test]
fn typos_count_for_words_that_are_nowhere_as_written() {
    let world = world();
    let library = world.library();
    check(&library, "rolback", &["ops/rollback"]);
    check(&library, "comit", &["style/commits"]);
    check(&library, "staigng", &["ops/deploy"]);
    check(&library, "mesages", &["style/commits"]);
    check(&library, "2023", &[]);
    // `note` is the start of `notes`, so similar words such as `rote` and `rota` do not match.
    check(&library, "rota", &["ops/on-call"]);
}

#[test]
fn phrases() {
    let world = world();
    let library = world.library();
    check(&library, "\"release notes\"", &["style/release-notes", "ops/rollback"]);
    check(&library, "\"notes release\"", &[]);
    check(&library, "\"one line\"", &["style/release-notes", "style/commits"]);
    check(&library, "\"one line\" \"release notes\"", &["style/release-notes"]);
    check(&library, "often \"one line\"", &["style/commits", "style/release-notes"]);
    check(&library, "\"relese notes\"", &[]);
    check(&library, "\"release note\"", &[]);
}

#[test]
fn filters() {
    let world = world();
    world.directive("project", "ops/deploy", "");
    world.signed(
        "project",
        "tools/deploy.yaml",
        "description: Deploys.\ninput_schema: {}\nexecutor: builtin\nbuiltin: file-system/read\n",
    );
    let library = world.library();
    let found = |query: SearchQuery| {
        let results = library.search(&query);
        let hits = results.hits.iter();
        hits.map(|hit| format!("{} {}", hit.item.kind, hit.item.id)).collect::<Vec<_>>()
    };
    let deploy = || query("deploy*");
    assert_eq!(found(deploy()).len(), 5);
    assert_eq!(found(deploy().with_kind(ItemKind::Tool)), ["tool deploy"]);
    assert_eq!(found(deploy().with_kind(ItemKind::Directive)), ["directive ops/deploy"]);
    assert_eq!(
        found(deploy().with_kind(ItemKind::Directive).with_kind(ItemKind::Tool)),
        ["directive ops/deploy", "tool deploy"]
    );
    assert_eq!(found(deploy().with_tag("release")), ["knowledge ops/deploy"]);
    assert_eq!(found(deploy().with_tag("OPS")), ["knowledge ops/deploy", "knowledge ops/rollback"]);
    assert_eq!(found(deploy().with_tag("ops").with_tag("release")), ["knowledge ops/deploy"]);
    assert_eq!(found(deploy().with_tag("c++")), ["knowledge style/commits"]);
    assert_eq!(found(deploy().with_tag("c")), [""; 0]);
    assert_eq!(found(deploy().with_tag("ops").with_kind(ItemKind::Tool)), [""; 0]);
    assert_eq!(found(query("turns")), [""; 0]);
    assert_eq!(found(query("turns").with_kind(ItemKind::Config)), ["config agent/resilience"]);
}

#[test]
fn a_limit_cuts_the_results_and_not_their_count() {
    let world = world();
    let library = world.library();
    let results = library.search(&query("\"one line\"").with_limit(1));
    assert_eq!((ids(&results), results.n_matched), (vec!["style/release-notes"], 2));
    let results = library.search(&query("\"one line\"").with_limit(0));
    assert_eq!((ids(&results).len(), results.n_matched), (0, 2));
}

#[test]
fn shadowed_items_are_not_listed() {
    let world = World::new();
    world.signed("project", "knowledge/a.md", "Project.\n");
    world.signed("user", "knowledge/a.md", "Walrus of the user.\n");
    world.signed("user", "knowledge/b.md", "Another walrus.\n");
    check(&world.library(), "walrus", &["b"]);
}

#[test]
fn a_hit_shows_what_was_verified() {
    let world = world();
    let results = world.library().search(&query("staging"));
    let hit = &results.hits[0];
    let excerpt = hit.item.content.value();
    assert_eq!(excerpt.summary.title.as_deref(), Some("Deploy the API"));
    assert_eq!(excerpt.summary.tags, ["ops", "release"]);
    assert_eq!(
        (excerpt.preview.text.as_str(), excerpt.preview.line),
        ("Then push to staging.", Some(9))
    );
    assert_eq!(hit.item.source.lines().nth(8), Some("Then push to staging."));
    assert_eq!(hit.item.digest, world.library().knowledge(&id("ops/deploy")).unwrap().digest);
}

#[test]
fn the_order_of_making_and_of_equal_items_does_not_show() {
    let scores = |entries: Vec<&[&str; 5]>| {
        let world = World::new();
        entries.into_iter().for_each(|entry| write(&world, entry));
        ["same", "z/same", "a/same", "m"].iter().for_each(|id| {
            world.signed("project", &format!("knowledge/twin/{id}.md"), "Twin walrus.\n");
        });
        let library = world.library();
        let hits = ["deploy", "release notes", "walrus", "ops line"].map(|text| {
            let hits = library.search(&query(text)).hits;
            hits.iter().map(|hit| (hit.item.id.to_string(), hit.score)).collect::<Vec<_>>()
        });
        hits.concat()
    };
    assert_eq!(scores(ENTRIES.iter().collect()), scores(ENTRIES.iter().rev().collect()));
}

#[test]
fn what_is_refused_is_told_and_is_no_result() {
    let world = World::new();
    world.signed("project", "knowledge/good.md", "A walrus.\n");
    world.write("project", "knowledge/unsigned.md", "A walrus.\n");
    world.signed("project", "knowledge/tampered.md", "A seal.\n");
    let path = world.path("project").join(".ai/knowledge/tampered.md");
    let text = std::fs::read_to_string(&path).unwrap().replace("seal", "walrus");
    std::fs::write(path, text).unwrap();
    world.signed_by(&world.stranger, "project", "knowledge/stranger.md", "A walrus.\n");
    world.signed("project", "knowledge/broken.md", "```yaml\na: [\n```\n\nA walrus.\n");
    world.write("project", "tools/walrus.sh", "");
    world.write("project", "tools/walrus.py", "");
    world.signed(
        "user",
        "knowledge/unsigned.md",
        "A walrus that the project's unsigned file hides.\n",
    );
    let results = world.library().search(&query("walrus"));
    assert_eq!((ids(&results), results.n_matched), (vec!["good"], 1));
    let refused: Vec<String> =
        results.refused.iter().map(|error| world.with_placeholders(&error.to_string())).collect();
    assert_eq!(
        refused,
        [
            "tool `walrus` is ambiguous in the project space: `project/.ai/tools/walrus.py`, `project/.ai/tools/walrus.sh`; keep one of them",
            "`project/.ai/knowledge/broken.md` cannot be parsed",
            "`project/.ai/knowledge/stranger.md` is not verified",
            "`project/.ai/knowledge/tampered.md` is not verified",
            "`project/.ai/knowledge/unsigned.md` is not verified",
        ]
    );
    let of_tools = world.library().search(&query("walrus").with_kind(ItemKind::Tool));
    assert_eq!((of_tools.hits.len(), of_tools.refused.len()), (0, 1));
}

#[test]
fn unsigned_items_are_results_only_when_the_operator_allows_them() {
    let world = World::new();
    world.write("project", "knowledge/draft.md", "A walrus.\n");
    let allowed = world.library_with(Policy::default().dangerous_allow_unsigned());
    let results = allowed.search(&query("walrus"));
    assert_eq!(ids(&results), ["draft"]);
    assert_eq!(*results.hits[0].item.content.provenance(), rye_sign::Provenance::Unsigned);
    assert_eq!(world.library().search(&query("walrus")).hits.len(), 0);
}

#[test]
fn a_provider_lies_among_the_tools_and_is_found_by_what_it_configures() {
    let world = World::new();
    world.signed(
        "project",
        "tools/rye/agent/providers/walrus.yaml",
        "base_url: https://ice.test\n",
    );
    check(&world.library(), "ice", &["rye/agent/providers/walrus"]);
}

#[test]
fn every_kind_is_described() {
    let world = World::new();
    world.signed("project", "directives/a.md", &directive("a", "", ""));
    world.write("project", "directives/b.md", "# B\n");
    world.write("project", "directives/c d.md", "");
    let (described, problems) = world.library().describe(ItemKind::Directive);
    let rows: Vec<_> = described
        .iter()
        .map(|row| {
            (
                row.listed.id.as_str(),
                row.summary.as_ref().ok().and_then(|item| item.content.value().title.clone()),
            )
        })
        .collect();
    assert_eq!(rows, [("a", Some("a".to_owned())), ("b", None)]);
    assert_eq!(problems.len(), 1);
}

#[test]
fn queries_that_make_no_sense() {
    #[track_caller]
    fn refuses(text: &str, message: &str) {
        assert_eq!(text.parse::<SearchQuery>().unwrap_err().to_string(), message);
    }
    refuses("", "the query `` has no words; write at least one");
    refuses(
        " -- \"\" ",
        "the query `-- \"\"` has no words; write at least one".replace('"', "\\\"").as_str(),
    );
    refuses("a \"b c", "the query `a \\\"b c` has a phrase without an end; write `\"` behind it");
    refuses(&"a".repeat(4097), "a query of 4097 bytes is too long; use at most 4096");
    refuses(&"a ".repeat(65), "a query of 65 words is too long; use at most 64");
}
