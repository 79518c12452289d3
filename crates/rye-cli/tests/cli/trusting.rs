//! `rye keys`, `rye sign` and `rye verify`.

use std::fs;

use crate::gates;
use crate::session::Session;

#[test]
fn a_key_is_made_once_and_trusted() {
    let session = Session::new();
    let made = session.rye("keys generate --owner ada");
    assert!(made.ends_with("--- exit 0\n"), "{made}");
    let private = session.home().join(".ai/config/keys/signing/private_key.pem");
    let before = fs::read_to_string(&private).unwrap();
    let again = session.rye("keys generate");
    assert!(
        again.contains("exists and is not replaced") && again.ends_with("--- exit 1\n"),
        "{again}"
    );
    assert_eq!(fs::read_to_string(&private).unwrap(), before);
    assert!(session.rye("sign ITEMS").ends_with("--- exit 0\n"));
    assert!(session.rye("run notes/index --provider steps").ends_with("--- exit 0\n"));
    let shown = session.rye("threads show");
    assert!(shown.contains("signed by  a trusted key"), "{shown}");
}

/// `--trust` names a review. A path in a configuration that came with the project is none.
#[test]
fn a_document_of_the_project_is_not_trusted_by_its_name() {
    let session = Session::new();
    let document = fs::read_to_string(session.trust()).unwrap();
    session.put("keys/theirs.toml", &document);
    let outside = session.project().join("../theirs.toml");
    fs::write(&outside, &document).unwrap();
    std::os::unix::fs::symlink("../theirs.toml", session.project().join("out.toml")).unwrap();
    std::os::unix::fs::symlink("project/keys/theirs.toml", session.project().join("../in.toml"))
        .unwrap();
    std::os::unix::fs::symlink("project", session.project().join("../way")).unwrap();
    let run = "run notes/index --provider steps --trust";
    for path in [
        "keys/theirs.toml",
        "./.ai/../keys/theirs.toml",
        "out.toml",
        "../in.toml",
        "../way/keys/theirs.toml",
    ] {
        let told = session.rye(&format!("{run} {path}"));
        assert!(told.contains("a project cannot vouch for itself"), "{path}: {told}");
        assert!(told.ends_with("--- exit 3\n"), "{path}: {told}");
        let served = session.rye_reading(&format!("mcp --trust {path}"), "");
        assert!(served.contains("a project cannot vouch for itself"), "{path}: {served}");
    }
    let told = session.rye(&format!("{run} ../theirs.toml"));
    assert!(told.ends_with("--- exit 0\n"), "{told}");
    // A key of the user space vouches for what it signed.
    session.rye("keys generate");
    let mine = session.home().join(".ai/config/keys/signing/private_key.pem");
    session
        .put(".ai/config/keys/trusted/56dbf7b2d9ce86ed.toml", EXAMPLE.split_once('\n').unwrap().1);
    let signed = session.rye(&format!(
        "sign .ai/config/keys/trusted/56dbf7b2d9ce86ed.toml --key {}",
        mine.display()
    ));
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    let told = session.rye(&format!("{run} .ai/config/keys/trusted/56dbf7b2d9ce86ed.toml"));
    assert!(told.ends_with("--- exit 0\n"), "{told}");
}

#[test]
fn no_key_yet() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("keys show"));
    insta::assert_snapshot!(session.rye("sign .ai"));
}

#[test]
fn items_are_verified() {
    let session = Session::new();
    session.put(".ai/directives/notes/unsigned.md", "# Unsigned\n");
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown file", "two Markdown files");
    insta::assert_snapshot!(session.rye("verify --trust TRUST"));
    insta::assert_snapshot!(
        session.rye("verify .ai/directives/notes/index.md --trust TRUST --json")
    );
}

/// Whatever lies in a tree is an answer of its own, and none of them ends the run.
#[test]
fn a_tree_of_many_sorts() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    session.put(".ai/knowledge/unsigned.md", "# Unsigned\n");
    session.put(".ai/config/agent/data.json", "{}\n");
    session.put(".ai/config/keys/trusted/0000000000000000.toml", "owner = 1\n");
    session.put("keys/example.toml", EXAMPLE);
    session.put("keys/own.toml", EXAMPLE.split_once('\n').unwrap().1);
    let folder = session.project().join(".ai/knowledge");
    fs::write(folder.join("latin.md"), b"# Caf\xe9\n").unwrap();
    session.put(".ai/knowledge/count.md", include_str!("old_signatures/content-only.md"));
    insta::assert_snapshot!(session.rye("verify .ai keys"));
    insta::assert_snapshot!(session.rye("verify .ai keys --strict --json"));
}

const EXAMPLE: &str = include_str!("../../../../examples/keys/example-trust.toml");

/// What the operator put into the user space counts there, signed or not.
#[test]
fn the_user_space_is_verified_too() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    let home = session.home().join(".ai");
    let output = session.rye(&format!("verify {}", home.display()));
    assert!(
        output.contains("1 file: 1 verified, 0 refused\nverified 1 trust document unsigned\n"),
        "{output}"
    );
    session.rye(&format!("trust revoke {}", "56dbf7b2d9ce86ed"));
    let output = session.rye(&format!("verify {}", home.display()));
    assert!(output.ends_with("--- exit 0\n"), "{output}");
}

/// What counts because of where it lies is told by where it lies, not by the way there.
#[cfg(unix)]
#[test]
fn a_way_through_the_user_space_makes_nothing_the_operator_s() {
    let session = Session::new();
    let name = "56dbf7b2d9ce86ed.toml";
    session.put(&format!(".ai/config/keys/trusted/{name}"), EXAMPLE);
    let keys = session.home().join(".ai/config/keys/trusted");
    fs::create_dir_all(&keys).unwrap();
    let (around, link) = (session.home().join(".ai/../../project/.ai/config/keys/trusted"), &keys);
    std::os::unix::fs::symlink(around.join(name), link.join(name)).unwrap();
    fs::write(session.home().join(".ai/elsewhere.toml"), EXAMPLE).unwrap();
    let elsewhere = session.home().join(".ai/elsewhere.toml");
    for path in [around.join(name), link.join(name), elsewhere] {
        let output = session.rye(&format!("verify {}", path.display()));
        assert!(output.contains("refused  1 self-vouched\n"), "{output}");
        assert!(output.ends_with("--- exit 3\n"), "{output}");
    }
    let listed = session.rye("trust list");
    assert!(listed.contains("2 trust documents, 2 of which do not count"), "{listed}");
}

/// A space follows links, so verifying it does; one that leads nowhere, or around, is no reason to stop.
#[cfg(unix)]
#[test]
fn what_links_lead_to_is_verified() {
    use std::os::unix::fs::symlink;
    let session = Session::new();
    let knowledge = session.project().join(".ai/knowledge");
    symlink("notes/index-style.md", knowledge.join("linked.md")).unwrap();
    symlink("nowhere.md", knowledge.join("dangling.md")).unwrap();
    symlink("..", knowledge.join("around")).unwrap();
    symlink("notes", knowledge.join("more")).unwrap();
    insta::assert_snapshot!(session.rye("verify .ai/knowledge --trust TRUST"));
}

#[test]
fn a_key_that_nobody_trusts() {
    insta::assert_snapshot!(Session::new().rye("verify .ai/directives/notes/index.md"));
}

#[test]
fn a_project_cannot_vouch_for_itself() {
    let session = Session::new();
    let document = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/keys/example-trust.toml"
    ))
    .unwrap();
    session.put(".ai/config/keys/trusted/56dbf7b2d9ce86ed.toml", &document);
    let output = session.rye("run notes/index --provider steps");
    assert!(output.ends_with("--- exit 3\n"), "{output}");
}

#[test]
fn signing_again_changes_nothing_but_the_line() {
    let session = Session::new();
    let path = session.project().join(".ai/directives/notes/index.md");
    let before = fs::read_to_string(&path).unwrap();
    insta::assert_snapshot!(session.rye("sign .ai --key KEY --re-sign --at 2026-11-20T00:00:00Z"));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

/// What is signed as this key would sign it needs no new line, and whoever rests on the file is not disturbed.
#[test]
fn a_file_that_nobody_changed_is_left_alone() {
    let session = Session::new();
    session.rye("keys generate");
    let path = ".ai/directives/notes/index.md";
    session.rye("sign ITEMS --at 2026-11-20T00:00:00Z");
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown file", "two Markdown files");
    let read = |path: &str| fs::read_to_string(session.project().join(path)).unwrap();
    let before = read(path);
    insta::assert_snapshot!(session.rye("sign .ai --at 2026-11-21T00:00:00Z"));
    assert_eq!(read(path), before);
    let told = session.rye(&format!("sign {path} --at 2026-11-21T00:00:00Z --json"));
    assert!(told.contains(r#""status": "unchanged""#), "{told}");
    assert!(told.contains(r#""timestamp": "2026-11-20T00:00:00Z""#), "{told}");
    let renewed = session.rye(&format!("sign {path} --at 2026-11-21T00:00:00Z --re-sign"));
    assert!(renewed.contains("1 signed, 0 not signed"), "{renewed}");
    assert!(read(path).contains("rye:signed:2026-11-21T00:00:00Z:"));
}

/// Each row changes the signed file; only a signature that this key would make here counts as one.
#[test]
fn a_file_is_signed_where_its_signature_does_not_hold() {
    let session = Session::new();
    session.rye("keys generate");
    let path = ".ai/knowledge/notes/index-style.md";
    let now = "2026-11-20T00:00:00Z";
    session.rye(&format!("sign {path} --at {now}"));
    let good = fs::read_to_string(session.project().join(path)).unwrap();
    let (line, rest) = good.split_once('\n').unwrap();
    // An entry that claims no name may stand under each.
    let nameless = rest.replacen("name: index-style\n", "", 1);
    let claimed = line.replace(" -->", "|github@somebody -->");
    let elsewhere = {
        session.put(".ai/knowledge/notes/other.md", &nameless);
        session.rye(&format!("sign .ai/knowledge/notes/other.md --at {now}"));
        fs::read_to_string(session.project().join(".ai/knowledge/notes/other.md")).unwrap()
    };
    for (name, text, at, status) in [
        ("as it was", good.clone(), now, "unchanged"),
        ("later", good.clone(), "2026-12-20T00:00:00Z", "unchanged"),
        ("of a time to come", good.clone(), "2026-11-19T23:59:59Z", "signed"),
        ("another text", good.replace("one Markdown", "two Markdown"), now, "signed"),
        ("another's claim", format!("{claimed}\n{rest}"), now, "signed"),
        ("another name", elsewhere, now, "signed"),
        ("no signature", rest.to_owned(), now, "signed"),
        ("cut off", format!("{}\n{rest}", &line[..line.len() - 5]), now, "signed"),
    ] {
        session.put(path, &text);
        let told = session.rye(&format!("sign {path} --at {at} --json"));
        assert!(told.contains(&format!("\"status\": \"{status}\"")), "{name}: {told}");
        assert!(session.rye("verify .ai/knowledge/notes").ends_with("exit 0\n"), "{name}");
    }
    // A signature does not keep what is wrong with the text from being told.
    session.put(path, "```yaml\nname: [\n```\n");
    assert!(session.rye(&format!("sign {path}")).ends_with("exit 1\n"));
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let session = Session::new();
    session.put(".ai/directives/notes/faulty.md", "# No fence\n");
    session.put(
        ".ai/directives/notes/misnamed.md",
        "# X\n\n```xml\n<directive name=\"other\" />\n```\n\nDo it.\n",
    );
    insta::assert_snapshot!(session.rye("sign .ai/directives --key KEY"));
}

#[test]
fn a_pattern_is_expanded_by_the_program_too() {
    let session = Session::new();
    let output = session.rye("sign .ai/**/*.md --key KEY --re-sign");
    assert!(output.contains("3 signed, 0 not signed"), "{output}");
    insta::assert_snapshot!(session.rye("sign .ai/**/*.toml --key KEY"));
}

/// Vouching for a key is no by-product of signing a folder (SPEC 2.8).
#[test]
fn a_trust_document_is_signed_only_by_its_name() {
    let session = Session::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/keys/example-trust.toml");
    let document = fs::read_to_string(path).unwrap();
    session.put("keys/other.toml", &document);
    session.rye("keys generate");
    insta::assert_snapshot!(session.rye("sign keys"));
    assert!(session.rye("sign keys/*.toml").ends_with("--- exit 1\n"));
    assert_eq!(fs::read_to_string(session.project().join("keys/other.toml")).unwrap(), document);
    assert!(session.rye("sign keys/other.toml").ends_with("--- exit 0\n"));
}

/// Whatever is neither yes nor no must not switch verification off.
#[test]
fn only_a_clear_yes_allows_what_is_unsigned() {
    let session = Session::new();
    session.put(".ai/directives/notes/unsigned.md", UNSIGNED);
    for (value, code) in [
        ("1", 0),
        ("true", 0),
        ("yes", 0),
        ("on", 0),
        ("", 3),
        ("0", 3),
        ("no", 3),
        ("false", 3),
        ("off", 3),
        ("disabled", 2),
        ("none", 2),
        (" 0", 2),
    ] {
        let output = session.rye_with("render notes/unsigned", &[("RYE_DEV_MODE", value)]);
        assert!(output.ends_with(&format!("--- exit {code}\n")), "`{value}`: {output}");
    }
}

#[test]
fn what_is_unsigned_is_rendered_and_run_with_a_warning() {
    let session = Session::new();
    session.put(".ai/directives/notes/unsigned.md", UNSIGNED);
    let warning = "--- standard error\nwarning: UNVERIFIED: directive `notes/unsigned` is not signed by anybody\n";
    for command in [
        "render notes/unsigned --allow-unsigned",
        "render notes/unsigned --allow-unsigned --json",
        "render notes/unsigned --allow-unsigned --template",
        "run notes/unsigned --allow-unsigned --provider steps",
        "run notes/unsigned --allow-unsigned --provider steps --json",
    ] {
        let output = session.rye(command);
        assert!(output.contains(warning), "{output}");
    }
}

const UNSIGNED: &str = "# U\n\n```xml\n<directive name=\"unsigned\" version=\"1.0.0\"><permissions><execute><tool>rye.file-system.ls</tool></execute></permissions></directive>\n```\n\nDo it: `rye_execute(item_type=\"tool\", item_id=\"rye/file-system/ls\")`\n";

/// Another's signature does not go unseen, and a key that ended signs nothing that counts.
#[test]
fn whose_signature_is_replaced_and_what_the_new_one_is_worth_is_told() {
    let session = Session::new();
    let made = session.rye("keys generate");
    let own = made.lines().find_map(|line| line.strip_prefix("key id       ")).unwrap();
    let file = ".ai/directives/notes/index.md";
    let told = "runs with your authority from now on, in place of that of `56dbf7b2d9ce86ed` (did not count: unknown-key)";
    let output = session.rye(&format!("sign {file}"));
    assert!(output.contains(told) && output.ends_with("--- exit 0\n"), "{output}");
    let again = session.rye(&format!("sign {file}"));
    assert!(!again.contains("in place of"), "{again}");
    let other = session.rye(&format!("sign {file} --key KEY --json"));
    assert!(other.contains(&format!("\"key_id\": \"{own}\"")), "{other}");
    assert!(!other.contains("warning:"), "{other}");
    session.rye(&format!("trust revoke {own}"));
    let ended = session.rye(&format!("sign {file}"));
    assert!(ended.contains(&format!("warning: the key `{own}` was revoked at ")), "{ended}");
}

/// A thread is not vouched for by a key that no longer vouches for anything.
#[test]
fn a_revoked_key_vouches_for_no_thread() {
    let session = Session::new();
    session.rye("keys generate");
    session.rye("sign ITEMS");
    session.rye("run notes/index --provider steps");
    assert!(session.rye("threads show").contains("signed by  a trusted key"));
    let folder = session.home().join(".ai/config/keys/trusted");
    let path = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&path).unwrap();
    let (_, text) = text.split_once('\n').unwrap();
    let revoked = text.replace("[public_key]", "revoked = 2026-01-01T00:00:00Z\n[public_key]");
    fs::write(&path, revoked).unwrap();
    assert!(session.rye("threads show").contains("signed by  a key of its own, which"));
}

#[cfg(unix)]
#[test]
fn signing_keeps_modes_and_line_ends() {
    use std::os::unix::fs::PermissionsExt as _;
    let session = Session::new();
    let path = session.project().join(".ai/directives/notes/index.md");
    let text = fs::read_to_string(&path).unwrap().replace('\n', "\r\n");
    fs::write(&path, &text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let signed =
        session.rye("sign .ai/directives/notes/index.md --key KEY --at 2026-11-20T00:00:00Z");
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(session.rye("verify .ai --trust TRUST").ends_with("--- exit 0\n"));
}

#[cfg(unix)]
#[test]
fn links_are_not_signed() {
    use std::os::unix::fs::symlink;
    let session = Session::new();
    let knowledge = session.project().join(".ai/knowledge");
    let before = fs::read_to_string(knowledge.join("notes/index-style.md")).unwrap();
    symlink("notes/index-style.md", knowledge.join("linked.md")).unwrap();
    session.put("elsewhere/entry.md", "# Elsewhere\n");
    symlink("../../elsewhere", knowledge.join("outside")).unwrap();
    insta::assert_snapshot!(
        session.rye("sign .ai/knowledge/linked.md .ai/knowledge/outside/entry.md --key KEY")
    );
    assert_eq!(fs::read_to_string(knowledge.join("notes/index-style.md")).unwrap(), before);
    let elsewhere = session.project().join("elsewhere/entry.md");
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "# Elsewhere\n");
}

/// The signature holds for one name, so the other one of the same file stays as it was.
#[test]
fn another_name_of_the_same_file_stays_unsigned() {
    let session = Session::new();
    session.put(".ai/knowledge/one.md", "# One\n");
    let folder = session.project().join(".ai/knowledge");
    fs::hard_link(folder.join("one.md"), folder.join("other.md")).unwrap();
    assert!(session.rye("sign .ai/knowledge/one.md --key KEY").ends_with("--- exit 0\n"));
    assert!(fs::read_to_string(folder.join("one.md")).unwrap().contains("rye:signed"));
    assert_eq!(fs::read_to_string(folder.join("other.md")).unwrap(), "# One\n");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_keeps_its_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let session = Session::new();
    session.put(".ai/knowledge/shut/entry.md", "# Entry\n");
    let folder = session.project().join(".ai/knowledge/shut");
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let is_obeyed = fs::write(folder.join("probe"), "").is_err();
    let output = session.rye("sign .ai/knowledge/shut --key KEY");
    mode(0o755);
    // Whoever may do everything, such as root, is not refused.
    if is_obeyed {
        assert!(output.contains("cannot write") && output.ends_with("--- exit 1\n"), "{output}");
        assert_eq!(fs::read_to_string(folder.join("entry.md")).unwrap(), "# Entry\n");
    }
}

#[test]
fn nothing_is_left_beside_a_signed_file() {
    let session = Session::new();
    session.rye("sign .ai --key KEY");
    let folder = session.project().join(".ai/directives/notes");
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["base.md", "index.md"]);
}

/// Where nothing keeps programs from it, what one changes of the policy is shown, and counts once the operator accepts it.
#[test]
fn a_policy_that_a_program_changed_is_refused_until_it_is_accepted() {
    let session = Session::new();
    session.put("../home/.ai/config/agent/processes.yaml", "sandbox: off\n");
    session.put(
        ".ai/directives/work.md",
        "# Work\n\n```xml\n<directive name=\"work\" version=\"1.0.0\">\n  <metadata><description>Works.</description>\n    \
         <permissions><execute><tool>rye.bash.*</tool></execute><acknowledge risk=\"elevated\">A test.</acknowledge>\
         </permissions></metadata>\n</directive>\n```\n\n<process><step name=\"a\"><execute item_type=\"tool\" \
         item_id=\"rye/bash/bash\"><param name=\"command\">touch .ai/rye.lock</param></execute></step></process>\n",
    );
    let rye = |arguments: &str| session.rye_with(arguments, &[("RYE_DEV_MODE", "1")]);
    let policy = rye("trust policy");
    assert!(policy.contains("no policy is pinned for this project\n"), "{policy}");
    let worked = rye("run work --provider steps");
    assert!(worked.ends_with("--- exit 0\n"), "{worked}");
    for directive in ["work", "notes/index --input folder=notes"] {
        let refused = rye(&format!("run {directive} --provider steps --trust TRUST"));
        assert!(refused.ends_with("--- exit 3\n"), "{refused}");
        assert!(refused.contains("added `.ai/rye.lock`"), "{refused}");
    }
    let policy = rye("trust policy");
    assert!(policy.contains("added    .ai/rye.lock\n") && policy.ends_with("exit 3\n"), "{policy}");
    let data = rye("trust policy --json");
    assert!(data.contains("\"path\": \".ai/rye.lock\",\n      \"change\": \"added\""), "{data}");
    let accepted = rye("trust policy --accept");
    assert!(accepted.ends_with("--- exit 0\n"), "{accepted}");
    assert!(rye("trust policy").contains("the policy is the pinned one\n"));
    let worked = rye("run work --provider steps");
    assert!(worked.ends_with("--- exit 0\n"), "{worked}");
}

/// A file is judged as it will be under the new signature: by what the new key may grant, and not the old one.
#[test]
fn a_key_signs_nothing_beyond_what_it_may_grant() {
    const LITTLE: &str = r#"["rye.execute.tool.rye.file-system.ls"]"#;
    let signed = gates::signed_project();
    let by_narrow = || vec![format!("trust-narrow {LITTLE}"), format!("sign-by-narrow {LOOK}")];
    let again = LOOKS
        .replace("<tool>", "<directive>notes.look</directive><tool>")
        .replace("<process>", &format!("<process>\n{LOOKS_AGAIN}"));
    let rows = [
        (LOOKS, vec![format!("own-key-says grants = {LITTLE}")], 1),
        (LOOKS, by_narrow(), 0),
        (&again, by_narrow(), 0),
    ];
    for (text, changes, code) in rows {
        let session = signed.duplicate();
        gates::apply(&session, &format!("write {LOOK} {text}"));
        changes.iter().for_each(|change| gates::apply(&session, change));
        let said = session.rye(&format!("sign {LOOK}"));
        assert!(said.ends_with(&format!("--- exit {code}\n")), "{changes:?}: {said}");
        assert_eq!(
            said.contains("which signed this directive, may not grant"),
            code == 1,
            "{said}"
        );
    }
}

/// Files that one command signs are judged as they will be when all are signed, whatever their order is.
#[test]
fn files_that_are_signed_at_once_are_judged_together() {
    const NARROW: &str =
        r#"trust-narrow ["rye.execute.directive.*", "rye.execute.tool.rye.file-system.ls"]"#;
    const INDEX: &str = ".ai/directives/notes/index.md";
    const BASE: &str = ".ai/directives/notes/base.md";
    const HOOKS: &str = ".ai/config/agent/hooks.yaml";
    const HOME: &str = "../home/.ai/directives/mine.md";
    let takes_look =
        r#"  <step name="look"><execute item_type="directive" item_id="notes/look" /></step>"#;
    let takes_index =
        r#"  <step name="index"><execute item_type="directive" item_id="notes/index" /></step>"#;
    let grants = "<directive>notes.*</directive><tool>rye.file-system.*</tool>";
    let look = LOOKS
        .replace("<tool>rye.file-system.read</tool>", grants)
        .replace("<process>", &format!("<process>\n{takes_index}"));
    let looks = [
        format!("write {LOOK} {look}"),
        format!("replace {INDEX} <process> => <process>\\n{takes_look}"),
        format!("replace {INDEX} <tool>rye.file-system.ls</tool> => {grants}"),
        format!("sign-by-narrow {INDEX}"),
        format!("sign-by-narrow {LOOK}"),
    ];
    let hook = "hooks:\n  - id: look\n    event: after_complete\n    action: {primary: execute, item_type: tool, item_id: rye/file-system/ls, params: {path: \".\"}}\n";
    let hooks = [format!("write {HOOKS} {hook}"), format!("sign-by-narrow {HOOKS}")];
    let mine = LOOKS
        .replace("\"look\" version", "\"mine\" version")
        .replace("    <category>notes</category>\n", "");
    let own = format!("write {HOME} {mine}");
    let with_own = [hooks[0].clone(), hooks[1].clone(), own];
    let base = [format!("sign-by-narrow {BASE}")];
    let broken_base = [
        format!(
            "replace {BASE} <metadata> => <metadata><continuation_directive>notes/gone</continuation_directive>"
        ),
        format!("sign-by-narrow {BASE}"),
    ];
    let narrower =
        ["write ../home/.ai/config/trust.yaml grants: [rye.execute.tool.rye.file-system.ls]\\n"
            .to_owned()];
    let told = [
        "write .ai/knowledge/notes/told.md ---\\nname: told\\ntitle: Told\\ncategory: notes\\nversion: 1.0.0\\nauthor: a\\nentry_type: note\\n---\\n\\nTold.\\n".to_owned(),
        "sign-by-narrow .ai/knowledge/notes/told.md".to_owned(),
        format!("write {HOOKS} hooks:\\n  - id: told\\n    event: thread_started\\n    action: {{primary: execute, item_type: knowledge, item_id: notes/told}}\\n"),
        format!("sign {HOOKS}"),
        with_own[2].clone(),
    ];
    let unsigned_hooks = [told[0].clone(), told[1].clone(), told[2].clone()];
    let below = format!("../project/{INDEX} ../project/{BASE}");
    let rows: [(&[String], &str, u8); 20] = [
        (&base, &format!("--project . {INDEX} {BASE}"), 0),
        (&base, &below, 0),
        (&unsigned_hooks, &format!("{HOOKS} {INDEX}"), 1),
        (&unsigned_hooks, &format!("{INDEX} {HOOKS} --dry-run"), 1),
        (&broken_base, &format!("{INDEX} {BASE}"), 1),
        (&narrower, &format!("{INDEX} ../home/.ai/config/trust.yaml"), 1),
        (&narrower, &format!("../home/.ai/config/trust.yaml {INDEX} --dry-run"), 1),
        (&told, HOME, 0),
        (&base, INDEX, 1),
        (&base, ".ai", 1),
        (&base, &format!("{INDEX} {BASE}"), 0),
        (&base, &format!("{BASE} {INDEX} --dry-run"), 0),
        (&looks, INDEX, 1),
        (&looks, LOOK, 1),
        (&looks, &format!("{INDEX} {LOOK}"), 0),
        (&looks, &format!("{LOOK} {INDEX}"), 0),
        (&hooks, INDEX, 1),
        (&hooks, &format!("{INDEX} {HOOKS} --dry-run"), 0),
        (&hooks, &format!("{INDEX} {HOOKS}"), 0),
        (&with_own, HOME, 0),
    ];
    let signed = gates::signed_project();
    for (changes, files, code) in rows {
        let session = signed.duplicate();
        gates::apply(&session, NARROW);
        changes.iter().for_each(|change| gates::apply(&session, change));
        let said = session.rye(&format!("sign {files}"));
        assert!(said.ends_with(&format!("--- exit {code}\n")), "{files}: {said}");
        let is_of_index = |line: &str| line.contains(INDEX) || line.contains(LOOK);
        let mut refused = said.lines().filter(|line| line.starts_with("refused"));
        assert_eq!(refused.any(is_of_index), code == 1, "{files}: {said}");
        if code == 0 && !files.contains("--dry-run") && files != HOME {
            let checked = session.rye("check");
            assert!(checked.ends_with("--- exit 0\n"), "{files}: {checked}");
        }
    }
}

const LOOK: &str = ".ai/directives/notes/look.md";

const LOOKS_AGAIN: &str =
    r#"  <step name="again"><execute item_type="directive" item_id="notes/look" /></step>"#;

const LOOKS: &str = r#"# Look

```xml
<directive name="look" version="1.0.0">
  <metadata>
    <description>Looks.</description>
    <category>notes</category>
    <author>example</author>
    <model tier="fast" />
    <limits turns="2" />
    <permissions><execute><tool>rye.file-system.read</tool></execute></permissions>
  </metadata>
</directive>
```

<process>
  <step name="look">
    <execute item_type="tool" item_id="rye/file-system/read"><param name="path" value="a" /></execute>
  </step>
</process>
"#;
