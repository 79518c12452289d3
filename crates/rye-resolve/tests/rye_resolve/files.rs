//! Plain files of a project as context (SPEC 17.3).

use std::fs;

use rye_resolve::{FilePath, ItemId};
use rye_sign::{ItemName, Policy, Provenance, SigningKey, sign_detached};
use rye_types::ItemKind;

use crate::world::{World, now};

fn path(text: &str) -> FilePath {
    text.parse().unwrap()
}

/// Writes a plain file into the project.
fn put(world: &World, file: &str, bytes: impl AsRef<[u8]>) {
    let place = path(file).in_project(&world.path("project"));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, bytes).unwrap();
}

/// Writes the signature of a text for a plain file.
fn sign(world: &World, key: &SigningKey, file: &str, text: &str) {
    let name = ItemName::new("knowledge", ItemId::of_file(&path(file)).as_str()).unwrap();
    let signature = path(file).signature();
    let below = signature.strip_prefix(".ai/").unwrap();
    world.write("project", below, &sign_detached(text, &name, key, now()));
}

/// What the library says of a file: its text, or the last cause of its refusal.
fn said(world: &World, file: &str, policy: Policy) -> String {
    match world.library_with(policy).file(&path(file)) {
        Ok(item) => {
            assert_eq!(item.id, ItemId::of_file(&path(file)));
            assert_eq!(item.kind, ItemKind::Knowledge);
            let sort = match item.content.provenance() {
                Provenance::Signed(_) => "signed",
                _ => "unsigned",
            };
            format!("{sort}: {}", item.content.value().body.value)
        }
        Err(error) => world.error_text(&error),
    }
}

#[test]
fn a_signed_file_is_its_whole_text() {
    let world = World::new();
    for (file, text, body) in [
        ("AGENTS.md", "Use tabs.\n", "Use tabs."),
        ("docs/rules", "---\nname: x\n---\nUse tabs.\n", "---\nname: x\n---\nUse tabs."),
        ("notes.yaml", "a: [\n", "a: ["),
        ("windows.md", "a\r\nb\r\n", "a\nb"),
        ("mark.md", "\u{feff}Use tabs.\n", "Use tabs."),
        ("script.sh", "#!/bin/sh\ntrue\n", "#!/bin/sh\ntrue"),
        ("empty.md", "", ""),
    ] {
        put(&world, file, text);
        sign(&world, &world.operator, file, text);
        assert_eq!(said(&world, file, Policy::default()), format!("signed: {body}"), "{file}");
    }
    let item = world.library().knowledge(&ItemId::of_file(&path("docs/rules"))).unwrap();
    assert!(item.content.value().metadata.is_empty() && item.content.value().name.is_none());
}

/// A line that looks like a signature is content, so that a digest covers it, too.
#[test]
fn the_digest_covers_all_of_a_file() {
    let world = World::new();
    let digest = |text: &str| {
        put(&world, "AGENTS.md", text);
        sign(&world, &world.operator, "AGENTS.md", text);
        world.library().file(&path("AGENTS.md")).unwrap().content_digest()
    };
    assert_ne!(digest("<!-- rye:unsigned -->\nUse tabs.\n"), digest("Use tabs.\n"));
    assert_eq!(digest("Use tabs.\r\n"), digest("Use tabs.\n"));
}

/// A name, what is done in a world, and what the library says then.
type Row<'r> = (&'r str, fn(&World), &'r str);

#[test]
fn refusals() {
    let unsigned = "project/AGENTS.md` is not verified\nunsigned: there is no signature; review the file and sign it with `rye sign`";
    let rows: &[Row<'_>] = &[
        ("missing", |_| {}, "knowledge `file:AGENTS.md` not found; looked in `project`"),
        ("unsigned", |world| put(world, "AGENTS.md", "x"), &format!("`{unsigned}")),
        (
            "signed for another place",
            |world| {
                put(world, "AGENTS.md", "x");
                sign(world, &world.operator, "RULES.md", "x");
                let signed = world.path("project").join(".ai/signed");
                fs::rename(signed.join("RULES.md.sig"), signed.join("AGENTS.md.sig")).unwrap();
            },
            "`project/AGENTS.md` is not verified\nbad signature: the key `OPERATOR` did not sign this text as knowledge `file:AGENTS.md` at the time stated; restore the file, or review it and sign it again with `rye sign`",
        ),
        (
            "of a stranger",
            |world| {
                put(world, "AGENTS.md", "x");
                sign(world, &world.stranger, "AGENTS.md", "x");
            },
            "`project/AGENTS.md` is not verified\nsigned by the unknown key `STRANGER`; trusted are `OPERATOR`; if you know its owner, `rye trust add FILE` accepts its trust document or public key, and `--trust FILE` a document for one command",
        ),
        (
            "a folder",
            |world| fs::create_dir(world.path("project").join("AGENTS.md")).unwrap(),
            "`project/AGENTS.md` is not a plain file; move it away or give it another name",
        ),
        (
            "not UTF-8",
            |world| put(world, "AGENTS.md", b"gr\xfc\xdfe\n"),
            "`project/AGENTS.md` is not UTF-8 text; save it as UTF-8",
        ),
        (
            "too long",
            |world| put(world, "AGENTS.md", vec![b'a'; 256 * 1024 + 1]),
            "`project/AGENTS.md` is longer than 262144 bytes; split it",
        ),
        (
            "a long signature",
            |world| {
                put(world, "AGENTS.md", "x");
                world.write("project", "signed/AGENTS.md.sig", &"#".repeat(5000));
            },
            "`project/.ai/signed/AGENTS.md.sig` is longer than 4096 bytes; split it",
        ),
    ];
    for (case, prepare, expected) in rows {
        let world = World::new();
        prepare(&world);
        assert_eq!(said(&world, "AGENTS.md", Policy::default()), *expected, "{case}");
    }
}

#[test]
fn an_unsigned_file_counts_where_the_operator_allows_it() {
    let world = World::new();
    let allowing = || Policy::default().dangerous_allow_unsigned();
    put(&world, "AGENTS.md", "Use tabs.\n");
    assert_eq!(said(&world, "AGENTS.md", allowing()), "unsigned: Use tabs.");
    sign(&world, &world.operator, "AGENTS.md", "Use spaces.\n");
    assert!(said(&world, "AGENTS.md", allowing()).contains("tampered"));
}

#[test]
fn a_draft_is_shown_where_drafts_are() {
    let world = World::new();
    put(&world, "AGENTS.md", "Use tabs.\n");
    sign(&world, &world.operator, "AGENTS.md", "Use spaces.\n");
    assert!(said(&world, "AGENTS.md", Policy::default()).contains("tampered"));
    let library = world.library().showing_drafts(world.operator.public());
    let item = library.file(&path("AGENTS.md")).unwrap();
    assert!(item.is_draft());
    assert_eq!(item.content.value().body.value, "Use tabs.");
    assert!(library.without_drafts().file(&path("AGENTS.md")).is_err());
}

/// It is no item: nothing lists, finds or loads it.
#[test]
fn a_plain_file_is_no_item() {
    let world = World::new();
    put(&world, "AGENTS.md", "Use tabs.\n");
    sign(&world, &world.operator, "AGENTS.md", "Use tabs.\n");
    let id = ItemId::of_file(&path("AGENTS.md"));
    world.write("project", "knowledge/file:AGENTS.md.md", "x");
    assert!(world.library().locate(ItemKind::Knowledge, &id).is_err());
    let known = world.library().survey(ItemKind::Knowledge).items;
    assert!(known.iter().all(|listed| listed.id.file().is_none()));
}

#[cfg(unix)]
#[test]
fn links_on_the_way_are_refused() {
    use std::os::unix::fs::symlink;

    for (link, target, file) in [
        ("AGENTS.md", "real/RULES.md", "AGENTS.md"),
        ("docs", "real", "docs/RULES.md"),
        (".ai/signed", "real", "AGENTS.md"),
        (".ai/signed/AGENTS.md.sig", "real/RULES.md", "AGENTS.md"),
    ] {
        let world = World::new();
        put(&world, "real/RULES.md", "x");
        if link.starts_with(".ai") {
            put(&world, "AGENTS.md", "x");
            fs::write(world.path("project").join("real/AGENTS.md.sig"), "x").unwrap();
        }
        let place = world.path("project").join(link);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(world.path("project").join(target), place).unwrap();
        let told = said(&world, file, Policy::default().dangerous_allow_unsigned());
        assert!(
            told.contains("is reached by a link, and a file of context is not"),
            "{link}: {told}"
        );
    }
    // The folder of the project may itself be reached by a link.
    let world = World::new();
    put(&world, "AGENTS.md", "x");
    sign(&world, &world.operator, "AGENTS.md", "x");
    let other = world.path("other");
    symlink(world.path("project"), &other).unwrap();
    let spaces = world.spaces().with_project(&other);
    let (trust, _) = rye_resolve::trust_store(&spaces, &[], now()).unwrap();
    let library = rye_resolve::Library::new(spaces, trust, Policy::default(), now());
    assert!(library.file(&path("AGENTS.md")).is_ok());
}
