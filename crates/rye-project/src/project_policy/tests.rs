//! Tests of the files of a project's policy, and of the report on a changed one.

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.put(".ai/config/agent/approval.yaml", "ask: []\n");
        place.put(".ai/config/trust.yaml", "{}\n");
        place.put(".ai/rye.lock", "{}\n");
        place.put(".ai/tools/rye/agent/providers/own.yaml", "a: 1\n");
        place.put("src/main.rs", "fn main() {}\n");
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("project").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn policy(&self) -> ProjectPolicy {
        ProjectPolicy::new(&self.path(""), &self.0.path().join("user/pins")).unwrap()
    }

    fn change(&self) -> Option<String> {
        self.policy().change().unwrap().map(|change| change.to_string())
    }
}

#[test]
fn nothing_is_compared_before_something_was_pinned() {
    let place = Place::new();
    assert_eq!(place.change(), None);
    place.policy().accept().unwrap();
    assert_eq!(place.change().as_deref(), Some(""));
}

#[test]
fn each_sort_of_change_is_told_until_it_is_accepted() {
    let place = Place::new();
    place.policy().accept().unwrap();
    place.put("src/main.rs", "fn main() { }\n");
    place.put(".ai/directives/a.md", "# A\n");
    assert_eq!(place.change().as_deref(), Some(""), "ordinary files are no policy");
    fs::remove_file(place.path(".ai/config/agent/approval.yaml")).unwrap();
    place.put(".ai/config/keys/trusted/0123456789abcdef.toml", "x\n");
    place.put(".ai/rye.lock", "{ }\n");
    place.put(".ai/tools/rye/agent/providers/other.yaml", "a: 2\n");
    let expected = "added `.ai/config/keys/trusted/0123456789abcdef.toml`, \
                    `.ai/tools/rye/agent/providers/other.yaml`; changed `.ai/rye.lock`; removed \
                    `.ai/config/agent/approval.yaml`";
    assert_eq!(place.change().as_deref(), Some(expected));
    place.policy().accept().unwrap();
    assert_eq!(place.change().as_deref(), Some(""));
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_a_loop_of_them_is_refused() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.put("shared.yaml", "one\n");
    symlink(place.path("shared.yaml"), place.path(".ai/config/linked.yaml")).unwrap();
    symlink("nowhere", place.path(".ai/config/dangling.yaml")).unwrap();
    place.policy().accept().unwrap();
    place.put("shared.yaml", "two\n");
    fs::remove_file(place.path(".ai/config/dangling.yaml")).unwrap();
    assert_eq!(
        place.change().as_deref(),
        Some("changed `.ai/config/linked.yaml`; removed `.ai/config/dangling.yaml`")
    );
    symlink(place.path(".ai/config"), place.path(".ai/config/again")).unwrap();
    assert!(matches!(place.policy().change(), Err(PolicyError::Unreadable { .. })));
}

#[test]
fn a_record_that_is_none_is_no_reason_to_go_on() {
    let place = Place::new();
    place.policy().accept().unwrap();
    fs::write(place.policy().path(), "{}").unwrap();
    assert!(matches!(place.policy().change(), Err(PolicyError::Pin { .. })));
}

/// Files with holes in them take no room on the disk, and would be read whole by each run.
#[test]
fn files_of_too_many_bytes_are_refused() {
    let place = Place::new();
    for number in 0..5 {
        let path = place.path(&format!(".ai/config/{number}.yaml"));
        fs::File::create(path).unwrap().set_len(16 << 20).unwrap();
    }
    let error = place.policy().accept().unwrap_err();
    let unreadable = std::error::Error::source(&error).unwrap();
    let cause = unreadable.source().unwrap().to_string();
    assert_eq!(cause, "the files have more than 67108864 bytes together");
}

/// The pinned policy is the one that the report names. A killed program leaves nothing in the folder of the
/// pins.
#[test]
fn what_is_accepted_is_what_is_told() {
    let place = Place::new();
    let left = place.0.path().join("user/pins/.rye-a1left.tmp");
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, "{}").unwrap();
    assert_eq!(place.policy().accept().unwrap(), None);
    place.put(".ai/rye.lock", "{ }\n");
    let accepted = place.policy().accept().unwrap().unwrap();
    assert_eq!(accepted.to_string(), "changed `.ai/rye.lock`");
    assert_eq!(place.change().as_deref(), Some(""));
    assert!(!left.exists());
}
