//! `rye trust`: whose signatures count, and what it takes to change that.

use std::fs;
use std::path::PathBuf;

use crate::session::Session;

const ID: &str = "56dbf7b2d9ce86ed";
const FINGERPRINT: &str = "ca42e4682097f974a5070f2dd88fd4df092502d87c5e67e1f7ef49afab031276";

fn example_document() -> String {
    fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/keys/example-trust.toml"
    ))
    .unwrap()
}

fn carried(session: &Session) {
    session.put(&format!(".ai/config/keys/trusted/{ID}.toml"), &example_document());
}

fn of_user(session: &Session) -> PathBuf {
    session.home().join(format!(".ai/config/keys/trusted/{ID}.toml"))
}

#[track_caller]
fn check_verifies(session: &Session, code: u8) {
    let output = session.rye("verify .ai/directives");
    assert!(output.ends_with(&format!("--- exit {code}\n")), "{output}");
}

#[test]
fn a_document_is_accepted_with_its_fingerprint() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("trust list"));
    insta::assert_snapshot!(session.rye(&format!("trust add TRUST --fingerprint {FINGERPRINT}")));
    insta::assert_snapshot!(session.rye("trust list"));
    insta::assert_snapshot!(session.rye(&format!("trust show {FINGERPRINT}")));
    check_verifies(&session, 0);
}

#[test]
fn nobody_is_trusted_without_an_answer() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("trust add TRUST"));
    insta::assert_snapshot!(session.rye(&format!("trust add TRUST --fingerprint {ID}")));
    let few = session.rye("trust add TRUST --fingerprint 00");
    assert!(few.contains("write all 64 lowercase hex digits, "), "{few}");
    assert!(few.ends_with("--- exit 2\n"), "{few}");
    let other = "0".repeat(64);
    insta::assert_snapshot!(session.rye(&format!("trust add TRUST --fingerprint {other}")));
    // A yes does not outweigh digits that disagree.
    let both = session.rye(&format!("trust add TRUST --fingerprint {other} --yes"));
    assert!(both.ends_with("--- exit 3\n"), "{both}");
    assert!(!of_user(&session).exists());
    check_verifies(&session, 3);
}

#[test]
fn a_project_s_document_is_accepted_by_its_id() {
    let session = Session::new();
    carried(&session);
    insta::assert_snapshot!(session.rye("trust list"));
    insta::assert_snapshot!(session.rye("verify .ai/directives/notes/index.md"));
    let grants = "rye.execute.tool.rye.file-system.*,rye.load.*";
    insta::assert_snapshot!(session.rye(&format!(
        "trust add {ID} --yes --owner them --grants {grants} --expires 2099-01-01T00:00:00Z"
    )));
    insta::assert_snapshot!(session.rye("trust list --json"));
    check_verifies(&session, 0);
}

/// A limit that covers nothing is told in the words of `rye mcp --allow`. Without a project, only a misspelling is one.
#[test]
fn a_misspelled_limit_of_a_key_is_told() {
    let misspelled = "warning: `--grants rye.execute.tool.rye.file-system.raed` covers no item that is there and no function \
                      behind a tool; did you mean `--grants rye.execute.tool.rye.file-system.read`?\n";
    let unknown = "warning: `--grants rye.execute.tool.garden.*` covers no item that is there and no function behind a tool; \
                   `rye list` shows the ids of all items\n";
    let grants = "rye.execute.tool.rye.file-system.raed,rye.execute.tool.rye.file-system.ls,rye.execute.tool.garden.*";
    let add = format!("trust add TRUST --yes --grants {grants}");
    let session = Session::new();
    let told = session.rye(&add);
    assert!(told.contains(misspelled) && told.contains(unknown), "{told}");
    assert!(!told.contains("file-system.ls`") && told.ends_with("--- exit 0\n"), "{told}");
    let session = Session::new();
    let told = session.rye_in(session.project().join(".."), &add);
    assert!(told.contains(misspelled) && !told.contains("garden.*` covers"), "{told}");
    let session = Session::new();
    let told = session.rye("trust add TRUST --yes");
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn a_public_key_needs_an_owner() {
    let session = Session::new();
    session.rye("keys generate --owner ada");
    session.rye("keys export --output ada.pem");
    let friend = Session::new();
    friend.put("ada.pem", &fs::read_to_string(session.project().join("ada.pem")).unwrap());
    insta::assert_snapshot!(friend.rye("trust add ada.pem --yes"));
    let added = friend.rye("trust add ada.pem --yes --owner ada");
    assert!(added.ends_with("--- exit 0\n"), "{added}");
    let note = "it is unsigned; it counts because you put it here";
    assert!(friend.rye("trust list").contains(note));
}

#[test]
fn what_cannot_be_trusted() {
    let session = Session::new();
    session.put("tampered.toml", &example_document().replace("the example key", "a better key"));
    session.put("misspelt.toml", &example_document().replace("grants", "grant"));
    session.put("wide.toml", &unsigned().replace("rye.execute", "{rye}.execute"));
    session.rye("keys generate");
    session.rye("keys export --private --output private.pem");
    insta::assert_snapshot!(session.rye("trust add tampered.toml --yes"));
    insta::assert_snapshot!(session.rye("trust add misspelt.toml --yes"));
    insta::assert_snapshot!(session.rye("trust add wide.toml --yes"));
    insta::assert_snapshot!(session.rye("trust add private.pem --yes --owner me"));
    insta::assert_snapshot!(session.rye("trust add nowhere.toml --yes"));
    insta::assert_snapshot!(session.rye(&format!("trust add {ID} --yes")));
    insta::assert_snapshot!(session.rye("trust add TRUST --yes --expires 2020-01-01T00:00:00Z"));
    insta::assert_snapshot!(session.rye("trust add TRUST --yes --grants {a,b}"));
    assert!(!of_user(&session).exists());
}

fn unsigned() -> String {
    example_document().split_once('\n').unwrap().1.to_owned()
}

/// An owner is text of a stranger: it gives the terminal no commands and forges no line.
#[test]
fn an_owner_is_one_line() {
    let session = Session::new();
    let evil = unsigned().replace("the example key", "me\\nfingerprint  0000\\u001b[2K\\u202e");
    session.put("evil.toml", &evil);
    insta::assert_snapshot!(session.rye("trust add evil.toml"));
}

#[test]
fn a_document_is_not_replaced() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    let before = fs::read_to_string(of_user(&session)).unwrap();
    insta::assert_snapshot!(session.rye("trust add TRUST --yes --owner other"));
    assert_eq!(fs::read_to_string(of_user(&session)).unwrap(), before);
}

#[test]
fn a_revoked_key_stays_revoked() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    let revoke = format!("trust revoke {ID} --at 2026-11-20T00:00:00Z");
    insta::assert_snapshot!(session.rye(&revoke));
    check_verifies(&session, 3);
    insta::assert_snapshot!(session.rye(&revoke));
    insta::assert_snapshot!(session.rye(&format!("trust remove {ID}")));
    // No other document counts against it: neither the run's nor the project's.
    carried(&session);
    let output = session.rye("verify .ai/directives --trust TRUST");
    assert!(output.ends_with("--- exit 3\n"), "{output}");
    insta::assert_snapshot!(session.rye("trust list"));
    assert!(session.rye(&format!("trust remove {ID} --yes")).ends_with("--- exit 0\n"));
    assert!(!of_user(&session).exists());
}

#[test]
fn a_key_of_a_system_root_is_revoked_for_the_operator() {
    let session = Session::new();
    session.put(&format!("../system/.ai/config/keys/trusted/{ID}.toml"), &example_document());
    let verify = "verify .ai/directives --system ../system";
    assert!(session.rye(verify).ends_with("--- exit 0\n"));
    insta::assert_snapshot!(session.rye(&format!("trust remove {ID} --system ../system")));
    let revoke = format!("trust revoke {ID} --at 2026-11-20T00:00:00Z --system ../system");
    assert!(session.rye(&revoke).contains("revoked "));
    assert!(session.rye(verify).ends_with("--- exit 3\n"));
    let removed = session.rye(&format!("trust remove {ID} --yes --system ../system"));
    insta::assert_snapshot!(removed);
}

/// Whoever named the root may be the project's author, as in an MCP client's configuration that came with it.
#[test]
fn no_system_root_lies_in_the_project() {
    let session = Session::new();
    session.put(&format!("system/.ai/config/keys/trusted/{ID}.toml"), &example_document());
    for system in ["system", "../project/system"] {
        let output = session.rye(&format!("run notes/index --provider steps --system {system}"));
        assert!(output.contains("a project cannot vouch for itself"), "{output}");
        assert!(output.ends_with("--- exit 3\n"), "{output}");
    }
}

/// One clone may have the project, and above it what it wants to count as the operator's.
#[cfg(unix)]
#[test]
fn no_space_that_is_named_holds_the_project() {
    let session = Session::new();
    let document = format!("../clone/.ai/config/keys/trusted/{ID}.toml");
    session.put(&document, &example_document());
    for folder in ["../clone", "../clone/below"] {
        session.put(&format!("{folder}/.ai/knowledge/x.md"), "x");
    }
    let clone = session.project().join("../clone");
    for (folder, option, words) in [
        (clone.clone(), "--user-space . --project below", "holds the project"),
        (clone.clone(), "--system . --project below", "a project cannot vouch for itself"),
        (clone.join("below"), "--user-space ..", "put it elsewhere"),
        (clone.clone(), "--user-space .", "holds the project"),
    ] {
        for command in ["check", "list", "mcp"] {
            let output = session.rye_in(folder.clone(), &format!("{command} {option}"));
            assert!(output.contains(words), "{command} {option}: {output}");
            assert!(!output.ends_with("--- exit 0\n"), "{output}");
        }
    }
    // The home folder is the operator's, and a folder that is not there yet is judged, too.
    let home = session.rye_in(session.home(), "list --user-space .");
    assert!(home.ends_with("--- exit 0\n"), "{home}");
    let later = session.rye("list --user-space later");
    assert!(later.contains("lies in the project"), "{later}");
}

/// Neither does a user space that is named: its keys, its policy and its items would be the operator's.
#[cfg(unix)]
#[test]
fn no_user_space_that_is_named_lies_in_the_project() {
    let session = Session::new();
    session.put(&format!("space/.ai/config/keys/trusted/{ID}.toml"), &example_document());
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(to, session.project().join(from)).unwrap();
    };
    link("linked", "space");
    link("../beside", "project/space");
    session.put("../outer/x", "");
    link("../outer/.ai", "../project/space/.ai");
    session.put(&format!("../own/.ai/config/keys/trusted/{ID}.toml"), &example_document());
    link("inward", "../own");
    let commands = [
        "run notes/index --provider steps",
        "check",
        "verify .ai",
        "list",
        "doctor",
        "keys generate",
        "trust list",
        "trust export",
        "trust policy",
    ];
    let own = [
        "space",
        "../project/space",
        "linked",
        "../beside",
        "../outer",
        "inward",
        ".",
        "inward/../own",
    ];
    for space in own {
        let named = session.rye(&format!("{} --user-space {space} --project .", commands[0]));
        assert!(named.contains("lies in the project, whose files would count"), "{space}: {named}");
        assert!(named.ends_with("--- exit 3\n"), "{named}");
        let named =
            session.rye_with(&format!("{} --project .", commands[0]), &[("USER_SPACE", space)]);
        assert!(named.contains("lies in the project, whose files would count"), "{space}: {named}");
    }
    for command in commands {
        let named = session.rye(&format!("{command} --user-space space"));
        assert!(named.contains("lies in the project, whose files would count"), "{named}");
        assert!(!named.ends_with("--- exit 0\n"), "{named}");
    }
    for space in ["../own", ".ai/directives/../../../own"] {
        let named = session.rye(&format!("verify .ai --user-space {space}"));
        assert!(named.ends_with("--- exit 0\n"), "{named}");
    }
}

#[test]
fn removing_forgets() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    insta::assert_snapshot!(session.rye(&format!("trust remove {ID}")));
    insta::assert_snapshot!(session.rye(&format!("trust remove {ID}")));
    insta::assert_snapshot!(session.rye("trust show 0123"));
}

/// What the operator's key signs in the user space does not stop counting because that key is revoked later.
#[test]
fn one_s_own_key_can_be_revoked() {
    let session = Session::new();
    session.rye("keys import KEY");
    let output = session.rye(&format!("trust revoke {ID} --at 2026-11-20T00:00:00Z"));
    insta::assert_snapshot!(output);
    check_verifies(&session, 3);
}

#[cfg(unix)]
#[test]
fn documents_lie_where_only_the_operator_writes() {
    use std::os::unix::fs::PermissionsExt as _;
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(of_user(&session)), 0o644);
    assert_eq!(mode(of_user(&session).parent().unwrap().to_owned()), 0o700);
    session.rye(&format!("trust revoke {ID}"));
    assert_eq!(mode(of_user(&session)), 0o644);
}

#[test]
fn a_file_that_is_no_document_is_listed_as_one_that_does_not_count() {
    let session = Session::new();
    session.put(".ai/config/keys/trusted/0000000000000000.toml", "owner = 1\n");
    insta::assert_snapshot!(session.rye("trust list"));
    insta::assert_snapshot!(session.rye("trust revoke 0000000000000000"));
}

/// A limit that cannot be read refuses every item of the key; nobody should have to run one to find that out.
#[test]
fn a_limit_that_cannot_be_read_is_told_and_not_signed() {
    let session = Session::new();
    session.rye("keys generate");
    let limit = "[\"rye.execute.tool.rye.file-system.*\"]";
    assert!(unsigned().contains(limit));
    let text = unsigned().replace(limit, "[\"rye.load.*\", \"rye.{a}\"]");
    fs::write(of_user(&session), text).unwrap();
    for command in ["trust list", "trust list --json", "trust show 56dbf7b2d9ce86ed"] {
        let listed = session.rye(command);
        let told = "nothing of this key runs: `rye.{a}` is not a capability pattern";
        assert!(listed.contains(told), "{listed}");
    }
    let signed = session.rye(&format!("sign {}", of_user(&session).display()));
    assert!(signed.contains("grants what cannot be granted: `rye.{a}` is not a"), "{signed}");
    assert!(signed.ends_with("--- exit 1\n"), "{signed}");
    session.put(".ai/config/keys/trusted/0011223344556677.toml", "owner = 1\n");
    let signed = session.rye("sign .ai/config/keys/trusted/0011223344556677.toml");
    assert!(signed.contains("cannot be signed as a trust document"), "{signed}");
}

/// A copy under a wrong name keeps nobody from revoking.
#[test]
fn a_key_is_revoked_by_the_document_that_counts() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    fs::copy(of_user(&session), of_user(&session).with_file_name("0copy.toml")).unwrap();
    let output = session.rye(&format!("trust revoke {ID}"));
    assert!(output.ends_with("--- exit 0\n"), "{output}");
    check_verifies(&session, 3);
}

/// System roots come from the option, else from the variable, else from the signed configuration of the user space.
#[test]
fn system_roots_of_the_variable_and_of_the_configuration() {
    let session = Session::new();
    session.rye("keys generate");
    for name in ["one", "two"] {
        let text =
            "```yaml\nname: NAME\ntitle: T\ncategory: team\nversion: \"1.0.0\"\n```\n\nText.\n";
        session
            .put(&format!("../{name}/.ai/knowledge/team/{name}.md"), &text.replace("NAME", name));
        session.rye(&format!("sign ../{name}/.ai/knowledge/team/{name}.md --re-sign"));
    }
    let parent = session.project().parent().unwrap().to_owned();
    let place = |name: &str| parent.join(name).display().to_string();
    let found = |variables: &[(&str, &str)], options: &str| -> Vec<&str> {
        let is_there = |name: &&str| {
            let shown = session
                .rye_with(&format!("which team/{name} --kind knowledge {options}"), variables);
            shown.contains(&format!("/.ai/knowledge/team/{name}.md"))
        };
        ["one", "two"].into_iter().filter(is_there).collect()
    };
    assert_eq!(found(&[], ""), [""; 0]);
    assert_eq!(found(&[("RYE_SYSTEM", &place("one"))], ""), ["one"]);
    let both = format!("{}:{}", place("one"), place("two"));
    assert_eq!(found(&[("RYE_SYSTEM", &both)], ""), ["one", "two"]);
    assert_eq!(found(&[("RYE_SYSTEM", &place("one"))], "--system ../two"), ["two"]);
    let config = "../home/.ai/config/spaces.yaml";
    session.put(config, &format!("system: [\"{}\", ../two]\n", place("one")));
    let unsigned = session.rye("run notes/index --provider steps");
    assert!(unsigned.contains("unsigned") && unsigned.ends_with("--- exit 3\n"), "{unsigned}");
    let signed = session.rye(&format!("sign {config}"));
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    assert_eq!(found(&[], ""), ["one", "two"]);
    assert_eq!(found(&[("RYE_SYSTEM", &place("one"))], ""), ["one"]);
    // A project adds none.
    session.put(".ai/config/spaces.yaml", "system: [/tmp]\n");
    let checked = session.rye("check .ai/config/spaces.yaml");
    assert!(checked.contains("a project may not add system roots"), "{checked}");
}

/// An exported document states all limits of the trust, or there is none.
#[test]
fn trust_with_limits_of_several_documents_is_not_exported() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    let exported = session.rye(&format!("trust export {ID}"));
    assert!(exported.ends_with("--- exit 0\n"), "{exported}");
    let signed = example_document();
    let (_, unsigned) = signed.split_once('\n').unwrap();
    let narrow = unsigned.replace("rye.execute.tool.rye.file-system.*", "rye.load.*");
    session.put(&format!("../home/.ai/config/keys/trusted/{FINGERPRINT}.toml"), &narrow);
    let refused = session.rye(&format!("trust export {ID}"));
    assert!(refused.contains("limits that its document does not state"), "{refused}");
    assert!(refused.ends_with("--- exit 3\n"), "{refused}");
}
