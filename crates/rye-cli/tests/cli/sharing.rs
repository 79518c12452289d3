//! Trust that is handed on: exported documents, documents that a project carries, and revocation lists.

use std::fs;

use rye::sign::{PublicKey, TrustDocument};

use crate::session::Session;

/// The key of the operator, who is called ada here. Its secret is that of the examples.
const ADA: &str = "56dbf7b2d9ce86ed";
const LIST: &str = ".ai/config/keys/revoked.toml";
const AT: &str = "--at 2026-11-20T00:00:00Z";

/// A project that ada signed, and the user space of another member.
struct Team {
    session: Session,
    /// The id of bob's key.
    bob: String,
    key: PublicKey,
}

impl Team {
    fn new() -> Self {
        let session = Session::new();
        fine(&session.rye("keys import KEY --owner ada"));
        fs::create_dir(session.project().join("../bob")).unwrap();
        fine(&session.rye(&format!("{BOB} keys generate --owner bob")));
        fine(&session.rye("trust export --output ada.toml"));
        fine(&session.rye(&format!("{BOB} trust export --output bob.toml")));
        fine(&session.rye(&format!("{BOB} trust add ada.toml --yes")));
        let document = fs::read_to_string(session.project().join("bob.toml")).unwrap();
        let key = TrustDocument::parse(&document).unwrap().key().clone();
        Self { session, bob: key.key_id().to_string(), key }
    }

    fn ada(&self, arguments: &str) -> String {
        self.steady(&self.session.rye(&arguments.replace("BOB", &self.bob)))
    }

    fn bob(&self, arguments: &str) -> String {
        self.ada(&format!("{BOB} {arguments}"))
    }

    /// Replaces what differs from run to run: bob's key and signatures.
    fn steady(&self, text: &str) -> String {
        let pem = self.key.to_pem();
        let middle = pem.lines().nth(1).unwrap();
        let text = text.replace(self.key.fingerprint().as_str(), "<FINGERPRINT>");
        let text = text.replace(&self.bob, "BOB").replace(middle, "<KEY>");
        let lines = text.lines().map(|line| match line.split_once("# rye:signed:") {
            Some((before, _)) => format!("{before}# rye:signed:<SIGNATURE>\n"),
            None => format!("{line}\n"),
        });
        lines.collect()
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.session.project().join(file.replace("BOB", &self.bob))
    }
}

const BOB: &str = "--user-space ../bob";

#[track_caller]
fn fine(said: &str) {
    assert!(said.ends_with("--- exit 0\n"), "{said}");
}

#[track_caller]
fn refused(said: &str, reason: &str) {
    assert!(said.contains(reason) && !said.ends_with("--- exit 0\n"), "{said}");
}

#[test]
fn an_exported_document_is_accepted_elsewhere() {
    let team = Team::new();
    insta::assert_snapshot!(team.ada("trust export"));
    let json = team.ada(&format!("trust export {ADA} --json"));
    assert!(json.contains("\"owner\": \"ada\"") && json.contains("\"path\": null"), "{json}");
    refused(&team.ada("trust export --output ada.toml"), "exists and is not replaced");
    refused(&team.ada("trust export BOB"), "no trust document for the key");
    // A limit that the operator set goes along, and no private key ever does.
    fine(&team.ada("trust add bob.toml --yes --grants rye.load.*"));
    let exported = team.ada("trust export BOB");
    assert!(exported.contains("grants = [\"rye.load.*\"]"), "{exported}");
    assert!(!exported.contains("PRIVATE"), "{exported}");
    fs::create_dir(team.path("../carol")).unwrap();
    fine(&team.ada("trust export BOB --output given.toml"));
    let added = team.ada("--user-space ../carol trust add given.toml --yes");
    assert!(added.contains("may grant    rye.load.*\n"), "{added}");
}

#[test]
fn trust_that_does_not_hold_is_not_handed_on() {
    let team = Team::new();
    fs::create_dir_all(team.path(".ai/config/keys/trusted")).unwrap();
    fs::copy(team.path("bob.toml"), team.path(".ai/config/keys/trusted/BOB.toml")).unwrap();
    insta::assert_snapshot!(team.ada("trust export BOB"));
    fine(&team.ada("trust add BOB --yes"));
    fine(&team.ada("trust export BOB"));
    fine(&team.ada(&format!("trust revoke BOB {AT}")));
    insta::assert_snapshot!(team.ada("trust export BOB"));
}

/// One member vouches for another in the project, and the third one needs nothing but the first key.
#[test]
fn a_member_vouches_for_another_in_the_project() {
    let team = Team::new();
    fine(&team.bob("sign ITEMS --re-sign"));
    refused(&team.ada("verify .ai"), "signed by the unknown key");
    insta::assert_snapshot!(team.ada("trust add bob.toml --to project"));
    assert!(!team.path(".ai/config/keys").exists());
    insta::assert_snapshot!(team.ada("trust add bob.toml --to project --yes"));
    fine(&team.ada("verify .ai"));
    let written = fs::read_to_string(team.path(".ai/config/keys/trusted/BOB.toml")).unwrap();
    assert!(written.lines().next().unwrap().ends_with(ADA), "{written}");
    // A third member trusts ada alone.
    fs::create_dir(team.path("../carol")).unwrap();
    fine(&team.ada("--user-space ../carol trust add ada.toml --yes"));
    fine(&team.ada("--user-space ../carol verify .ai"));
    // A key that is trusted for one command vouches for no other, whatever asks.
    fs::create_dir(team.path("../dave")).unwrap();
    fs::rename(team.path("ada.toml"), team.path("../ada.toml")).unwrap();
    for command in ["verify .ai/config/keys", "verify .ai/directives", "check --strict"] {
        let told = team.ada(&format!("--user-space ../dave --trust ../ada.toml {command}"));
        assert!(told.contains("vouch for itself") || told.contains("unknown key"), "{told}");
    }
    // What is there already is no error, and nothing is written.
    fine(&team.ada("trust add bob.toml --to project --yes"));
    fine(&team.ada("trust add BOB --to project --yes"));
    let again = fs::read_to_string(team.path(".ai/config/keys/trusted/BOB.toml")).unwrap();
    assert_eq!(again, written);
    insta::assert_snapshot!(team.ada("trust add BOB --to project --yes --grants rye.load.*"));
    assert_eq!(fs::read_to_string(team.path(".ai/config/keys/trusted/BOB.toml")).unwrap(), written);
}

/// A key that only the project trusts vouches for nobody. Its owner, who trusts it, is told that it does not for others.
#[test]
fn a_member_of_the_project_alone_vouches_for_nobody_and_is_told() {
    let team = Team::new();
    let warning = "warning: the document counts only for those who trust your key `BOB` themselves";
    fs::create_dir(team.path("../carol")).unwrap();
    fine(&team.ada("--user-space ../carol keys generate --owner carol"));
    fine(&team.ada("--user-space ../carol trust export --output carol.toml"));
    fine(&team.ada("--user-space ../carol trust add ada.toml --yes"));
    let told = team.ada("trust add bob.toml --to project --yes");
    assert!(!told.contains("warning"), "{told}");
    let told = team.bob("trust add carol.toml --to project --yes");
    assert!(told.contains(warning) && told.contains("trusted "), "{told}");
    fine(&told);
    let listed = team.ada("trust list");
    assert!(listed.contains("1 of which does not count"), "{listed}");
}

/// The question names the owner, the fingerprint and for whom the answer counts, and a no writes nothing.
#[cfg(unix)]
#[test]
fn vouching_is_asked_for_at_a_terminal() {
    use std::io::Write as _;
    for (answer, is_written) in [("n\n", false), ("y\n", true)] {
        let team = Team::new();
        let words = ["trust", "add", "bob.toml", "--to", "project"];
        let answering = |near: &mut fs::File| near.write_all(answer.as_bytes()).unwrap();
        let (shown, output) =
            crate::terminal::on_terminal(&team.session, &words, &[], "[y/N] ", answering);
        let question = format!(
            "owner        bob\nfingerprint  {}\nmay grant    without a limit\ntrusted by   all who read this \
             project and trust your key themselves\nDid its owner tell you this fingerprint? [y/N] ",
            team.key.fingerprint()
        );
        let shown = shown.replace('\r', "");
        assert!(shown.contains(&question), "{shown}");
        assert_eq!(output.status.success(), is_written, "{shown}");
        assert_eq!(team.path(".ai/config/keys/trusted/BOB.toml").exists(), is_written);
    }
}

/// A document that waits in the project is signed where it lies.
#[test]
fn a_waiting_document_is_vouched_for_by_its_id() {
    for options in ["", "--grants rye.load.* --owner robert"] {
        let team = Team::new();
        fs::create_dir_all(team.path(".ai/config/keys/trusted")).unwrap();
        fs::copy(team.path("bob.toml"), team.path(".ai/config/keys/trusted/BOB.toml")).unwrap();
        refused(&team.ada("verify .ai/config/keys"), "cannot vouch for itself");
        // A copy under another name counts for nothing, and is in nobody's way.
        let copy = team.path(".ai/config/keys/trusted/0bob.toml");
        fs::copy(team.path("bob.toml"), &copy).unwrap();
        fine(&team.ada(&format!("trust add BOB --to project --yes {options}")));
        fs::remove_file(copy).unwrap();
        fine(&team.ada("verify .ai/config/keys"));
        let written = fs::read_to_string(team.path(".ai/config/keys/trusted/BOB.toml")).unwrap();
        assert_eq!(written.contains("robert"), !options.is_empty(), "{written}");
    }
}

#[test]
fn a_key_vouches_in_a_project_for_no_more_than_it_may() {
    let team = Team::new();
    let own = team.path("../home/.ai/config/keys/trusted").join(format!("{ADA}.toml"));
    let limit = |grants: &str| {
        fs::remove_file(&own).unwrap();
        fine(&team.ada(&format!("trust add ada.toml --yes --grants {grants}")));
    };
    limit("rye.load.*,rye.search.*");
    insta::assert_snapshot!(team.ada("trust add bob.toml --to project --yes"));
    insta::assert_snapshot!(
        team.ada("trust add bob.toml --to project --yes --grants rye.load.*,rye.execute.*")
    );
    fine(&team.ada("trust add bob.toml --to project --yes --grants rye.load.knowledge.*"));
    // No key at all, a key that nobody trusts, and one that ended.
    fs::remove_file(&own).unwrap();
    insta::assert_snapshot!(team.ada("trust add bob.toml --to project --yes"));
    fine(&team.ada("trust add ada.toml --yes"));
    fine(&team.ada(&format!("trust revoke {ADA} {AT}")));
    insta::assert_snapshot!(team.ada("trust add bob.toml --to project --yes"));
    fs::remove_dir_all(team.path("../home/.ai/config/keys/signing")).unwrap();
    insta::assert_snapshot!(team.ada("trust add bob.toml --to project --yes"));
    insta::assert_snapshot!(team.ada("trust revoke BOB --to project"));
    let outside = team
        .session
        .rye_in(team.session.home(), "trust add ../project/bob.toml --to project --yes");
    refused(&outside, "no project");
}

#[test]
fn a_key_is_revoked_for_all_who_read_the_project() {
    let team = Team::new();
    fine(&team.ada("trust add bob.toml --to project --yes"));
    fine(&team.bob("sign .ai/directives/notes/index.md"));
    fine(&team.ada("verify .ai/directives"));
    insta::assert_snapshot!(team.ada(&format!("trust revoke BOB {AT} --to project --reason left")));
    insta::assert_snapshot!(team.ada("verify .ai"));
    insta::assert_snapshot!(team.ada("trust list"));
    insta::assert_snapshot!(team.ada("trust show BOB"));
    insta::assert_snapshot!(team.ada("trust list --json"));
    insta::assert_snapshot!(team.ada("trust revoke BOB --to project"));
    // The one whom it concerns sees the same, in this project alone.
    let verdict = format!(
        "was revoked at 2026-11-20T00:00:00Z by `<DIR>/project/{LIST}`, signed by `{ADA}` (\"left\")"
    );
    refused(&team.bob("verify .ai/directives"), &verdict);
    refused(&team.bob("run notes/index --provider steps --input folder=notes"), &verdict);
    refused(&team.bob("check"), "revoked-key");
    let signed = team.bob("sign .ai/directives/notes/base.md");
    assert!(signed.contains(&verdict), "{signed}");
    refused(&team.bob("trust add ada.toml --to project --yes"), &verdict);
    let other = team.session.project().join("../other/.ai/directives/notes");
    fs::create_dir_all(&other).unwrap();
    fs::copy(team.path(".ai/directives/notes/index.md"), other.join("index.md")).unwrap();
    let elsewhere = team.session.rye_in(other, "--user-space ../../../../bob verify index.md");
    fine(&elsewhere);
    fine(&team.bob("verify ../other/.ai/directives/notes/index.md"));
}

/// A list is added to as it is: its comments and the entries of others stay.
#[test]
fn a_list_grows_by_several_hands() {
    let team = Team::new();
    fine(&team.ada("trust add bob.toml --to project --yes"));
    fine(&team.ada(&format!("trust revoke 0000000000000000 {AT} --to project")));
    let text = fs::read_to_string(team.path(LIST)).unwrap();
    fs::write(team.path(LIST), text.replace("category", "# Ask ada.\ncategory")).unwrap();
    // The text was changed, so that nobody vouches for it until it is signed.
    insta::assert_snapshot!(team.ada("trust revoke BOB --to project"));
    refused(&team.ada("sign .ai/config/keys/*.toml"), "by its own path alone");
    fine(&team.ada(&format!("sign {LIST}")));
    insta::assert_snapshot!(
        team.ada(&format!("trust revoke 1111111111111111 {AT} --to project --reason stolen"))
    );
    insta::assert_snapshot!(team.steady(&fs::read_to_string(team.path(LIST)).unwrap()));
    fs::write(team.path(LIST), "revoked = []\n").unwrap();
    refused(&team.ada("trust revoke BOB --to project"), "the list is unsigned, and revokes no key");
    fine(&team.ada(&format!("sign {LIST}")));
    fine(&team.ada(&format!("trust revoke BOB {AT} --to project")));
    refused(&team.ada("trust export BOB"), "was revoked at");
}

/// A project that signs a list with a key of its own revokes nothing, and says so wherever trust is told.
#[test]
fn a_list_that_nobody_vouches_for_revokes_nothing() {
    let team = Team::new();
    fine(&team.ada("sign .ai --re-sign"));
    let list = format!(
        "version = \"1.0.0\"\ncategory = \"keys/revoked\"\n\n[[revoked]]\nkey_id = \"{ADA}\"\nat = 2026-11-20T00:00:00Z\n"
    );
    fs::create_dir_all(team.path(".ai/config/keys")).unwrap();
    fs::write(team.path(LIST), &list).unwrap();
    fine(&team.bob(&format!("sign {LIST}")));
    for command in
        ["check", "trust list", "doctor", "run notes/index --provider steps --input folder=notes"]
    {
        let told = team.ada(command);
        assert!(told.contains("the list is signed by the key `BOB`, and revokes no key"), "{told}");
    }
    fine(&team.ada("verify .ai/directives"));
    // For bob, whose key signed it, the list counts.
    refused(&team.bob("verify .ai/directives"), "was revoked at");
    fs::write(team.path(LIST), &list).unwrap();
    insta::assert_snapshot!(team.ada("trust list"));
    insta::assert_snapshot!(team.ada("verify .ai"));
    insta::assert_snapshot!(team.ada("check"));
    fs::write(team.path(LIST), "revoked = 1\n").unwrap();
    insta::assert_snapshot!(team.ada(&format!("sign {LIST}")));
    fine(&team.ada("verify .ai/directives"));
}

/// The list of a system root holds for all who read the root, and in each project. Its keeper writes it where the root is a project.
#[test]
fn a_list_of_a_system_root_holds_in_every_project() {
    let team = Team::new();
    fine(&team.bob("sign ITEMS --re-sign"));
    fine(&team.ada("trust add bob.toml --yes"));
    fs::create_dir_all(team.path("../shared/.ai")).unwrap();
    let root = team.path("../shared").canonicalize().unwrap();
    let revoke = format!("trust revoke {} {AT} --to project --reason left", team.bob);
    fine(&team.ada("verify .ai"));
    fine(&team.session.rye_in(root, &revoke));
    insta::assert_snapshot!(team.ada("verify .ai --system ../shared"));
    insta::assert_snapshot!(team.ada("trust list --system ../shared"));
    fine(&team.ada("verify .ai"));
    // There, an unsigned list counts, because the operator chose the root; a tampered one never does.
    let list = team.path("../shared").join(LIST);
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replace("left", "came")).unwrap();
    let told = team.ada("verify .ai --system ../shared");
    fine(&told);
    let checked = team.ada("check --system ../shared");
    assert!(
        checked.contains("the list fails verification, and revokes no key: tampered"),
        "{checked}"
    );
    fs::write(&list, text.split_once('\n').unwrap().1).unwrap();
    refused(
        &team.ada("verify .ai --system ../shared"),
        "revoked.toml`, which is unsigned (\"left\")",
    );
}

/// What a project's list says of the operator's own key concerns the project's files alone.
#[test]
fn a_project_blocks_no_file_of_the_user_space() {
    let team = Team::new();
    fine(&team.ada("sign .ai --re-sign"));
    team.session.put("../home/.ai/config/trust.yaml", "content_only: deny\n");
    fine(&team.ada("sign ../home/.ai/config/trust.yaml"));
    fine(&team.ada(&format!("trust revoke {ADA} {AT} --to project")));
    fine(&team.ada("verify ../home/.ai/config/trust.yaml"));
    fine(&team.ada("check ../home/.ai/config/trust.yaml"));
    refused(&team.ada("verify .ai/directives"), "was revoked at");
    let listed = team.ada("list");
    assert!(listed.contains("warning: 3 items or folders are not usable"), "{listed}");
    // A document for the user space is signed as before.
    fine(&team.ada("trust add bob.toml --yes"));
    let written =
        fs::read_to_string(team.path("../home/.ai/config/keys/trusted/BOB.toml")).unwrap();
    assert!(written.starts_with("# rye:signed:"), "{written}");
    insta::assert_snapshot!(
        team.ada("doctor")
            .lines()
            .filter(|line| line.contains(" keys ") || line.contains("to do: the project"))
            .collect::<Vec<_>>()
            .join("\n")
    );
}
