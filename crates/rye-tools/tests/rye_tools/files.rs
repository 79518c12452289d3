//! What the file operations do inside the project.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rye_tools::fs::{
    Entry, EntryKind, Error, Lines, LsQuery, MAX_ENTRIES, MAX_FILE_BYTES, MAX_WRITE_BYTES,
};
use rye_tools::fs::{Root, create, ls, read, write};

use crate::project::Project;

#[test]
fn what_is_written_is_read() {
    let project = Project::new();
    let written = write(&project.root, "a/./b//c.md", "one\ntwo\n").unwrap();
    assert_eq!((written.path.as_str(), written.bytes_written), ("a/b/c.md", 8));
    let text = read(&project.root, "a/b/c.md", Lines::all()).unwrap();
    assert_eq!((text.path.as_str(), text.content.as_str()), ("a/b/c.md", "one\ntwo\n"));
    assert_eq!((text.bytes, text.lines, text.truncated), (8, 2, false));
}

#[test]
fn writing_leaves_one_file_behind_and_keeps_its_mode() {
    let project = Project::new();
    project.file("project/run.sh", "old");
    let path = project.outer().join("project/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    write(&project.root, "run.sh", "new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(fs::read_dir(project.outer().join("project")).unwrap().count(), 1);
}

#[test]
fn a_second_name_of_a_file_keeps_the_old_content() {
    let project = Project::new();
    project.file("outside/data", "old");
    fs::hard_link(project.outer().join("outside/data"), project.outer().join("project/data"))
        .unwrap();
    write(&project.root, "data", "new").unwrap();
    assert_eq!(fs::read_to_string(project.outer().join("outside/data")).unwrap(), "old");
}

#[test]
fn links_inside_the_project_work_both_ways() {
    let project = Project::new();
    project.file("project/real/a.md", "# A\n");
    let at = |path: &str| project.outer().join("project").join(path);
    symlink("real", at("folder")).unwrap();
    symlink("../real/a.md", at("real/self")).unwrap();
    assert_eq!(read(&project.root, "folder/self", Lines::all()).unwrap().content, "# A\n");
    write(&project.root, "folder/self", "# B\n").unwrap();
    assert_eq!(fs::read_to_string(at("real/a.md")).unwrap(), "# B\n");
    assert!(fs::symlink_metadata(at("real/self")).unwrap().is_symlink());
    write(&project.root, "folder/new/c.md", "c").unwrap();
    assert_eq!(fs::read_to_string(at("real/new/c.md")).unwrap(), "c");
}

/// What is written where such a link leads would be policy by then.
#[test]
fn a_link_that_waits_for_its_target_closes_the_project() {
    for (link, target, written) in [
        (".ai/config", "knowledge/c", ".ai/knowledge/c/agent/approval.yaml"),
        (".ai/rye.lock", "../accepted.lock", "accepted.lock"),
        (".ai/signed", "knowledge/s", ".ai/knowledge/s/AGENTS.md.sig"),
        (".ai/tools/rye", "../knowledge/e", ".ai/knowledge/e/agent/providers/p.yaml"),
    ] {
        let project = Project::new();
        project.file("project/.ai/knowledge/e/a.md", "");
        project.file("project/.ai/tools/a.yaml", "");
        symlink(target, project.outer().join("project").join(link)).unwrap();
        for path in [written, "notes/a.md"] {
            let error = write(&project.root, path, "x").unwrap_err();
            assert!(error.to_string().contains("put a folder in the link's place"), "{error}");
        }
        assert!(!project.outer().join("project").join(written).exists());
        assert_eq!(read(&project.root, ".ai/tools/a.yaml", Lines::all()).unwrap().content, "");
    }
}

#[test]
fn the_rest_of_the_ai_folder_is_open() {
    let project = Project::new();
    write(&project.root, ".ai/directives/x.md", "x").unwrap();
    write(&project.root, ".ai/knowledge/notes/x.md", "x").unwrap();
    project.file("project/.ai/threads/t/transcript.md", "said");
    assert_eq!(
        read(&project.root, ".ai/threads/t/transcript.md", Lines::all()).unwrap().content,
        "said"
    );
}

#[test]
fn a_listing_is_sorted_and_says_what_each_entry_is() {
    let project = Project::new();
    project.file("project/notes/b.md", "# Bread\n");
    project.file("project/notes/a.bin", "\u{0}");
    project.file("project/notes/c/d.md", "");
    symlink("b.md", project.outer().join("project/notes/link")).unwrap();
    let listing = ls(&project.root, &LsQuery::new("notes").first_lines()).unwrap();
    assert_eq!((listing.path.as_str(), listing.count, listing.omitted_count()), ("notes", 4, 0));
    let row = |entry: &Entry| (entry.name.clone(), entry.kind, entry.bytes);
    let expected = [
        ("a.bin".to_owned(), EntryKind::File, Some(1)),
        ("b.md".to_owned(), EntryKind::File, Some(8)),
        ("c".to_owned(), EntryKind::Folder, None),
        ("link".to_owned(), EntryKind::Link, None),
    ];
    assert_eq!(listing.entries.iter().map(row).collect::<Vec<_>>(), expected);
    assert_eq!(listing.listing(), "- a.bin: \\u{0}\n- b.md: Bread\n- c\n- link");
}

#[test]
fn a_name_cannot_add_a_bullet() {
    let project = Project::new();
    project.file("project/a\n- b.md", "");
    assert_eq!(ls(&project.root, &LsQuery::new(".")).unwrap().listing(), "- a\\n- b.md");
}

#[test]
fn a_long_listing_says_what_was_left_out() {
    let project = Project::new();
    for number in 0..MAX_ENTRIES + 3 {
        project.file(&format!("project/many/{number:05}"), "");
    }
    let listing = ls(&project.root, &LsQuery::new("many")).unwrap();
    assert_eq!((listing.count, listing.entries.len()), (MAX_ENTRIES + 3, MAX_ENTRIES));
    assert_eq!(listing.entries.last().map(|entry| entry.name.as_str()), Some("00999"));
    assert_eq!(listing.listing().lines().last(), Some("- … and 3 more, not shown"));
}

#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T, Error>, expected: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert!(!error.is_refusal(), "{error:?} is a failure");
}

#[test]
fn failures_that_are_no_refusals_say_what_is_there() {
    let project = Project::new();
    project.file("project/a.md", "x");
    project.file("project/folder/b.md", "x");
    symlink("nowhere/x", project.outer().join("project/dangling")).unwrap();
    let root = &project.root;
    fails(read(root, "none.md", Lines::all()), "`none.md` does not exist");
    fails(read(root, "none/b.md", Lines::all()), "`none/b.md` does not exist");
    fails(read(root, "dangling", Lines::all()), "`dangling` does not exist");
    fails(write(root, "dangling", "x"), "`dangling` does not exist");
    fails(read(root, "folder", Lines::all()), "`folder` is a folder, not a file");
    fails(write(root, "folder", "x"), "`folder` is a folder, not a file");
    fails(write(root, ".", "x"), "`.` is a folder, not a file");
    fails(read(root, "a.md/b", Lines::all()), "`a.md/b` is not a folder, or goes through a file");
    fails(write(root, "a.md/b/c", "x"), "`a.md/b/c` is not a folder, or goes through a file");
    fails(ls(root, &LsQuery::new("a.md")), "`a.md` is not a folder, or goes through a file");
    fails(ls(root, &LsQuery::new("none")), "`none` does not exist");
    assert!(!project.outer().join("project/nowhere").exists());
}

#[test]
fn sizes_are_limited_both_ways() {
    let project = Project::new();
    let big = fs::File::create(project.outer().join("project/big")).unwrap();
    big.set_len(MAX_FILE_BYTES + 1).unwrap();
    let message = "`big` is too large: 16777217 bytes, at most 16777216 are allowed";
    fails(read(&project.root, "big", Lines::all()), message);
    let content = "x".repeat(MAX_WRITE_BYTES + 1);
    let message = "`new/x` is too large: 4194305 bytes, at most 4194304 are allowed";
    fails(write(&project.root, "new/x", &content), message);
    assert!(!project.outer().join("project/new").exists());
}

#[test]
fn what_is_not_text_is_not_read() {
    let project = Project::new();
    fs::write(project.outer().join("project/a.png"), [0x89, b'P', 0xff]).unwrap();
    fails(read(&project.root, "a.png", Lines::all()), "`a.png` is not UTF-8 text");
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let project = Project::new();
    project.file("project/a.md", "x");
    let path = project.outer().join("project/a.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fails(write(&project.root, "a.md", "y"), "`a.md` is read-only");
    assert_eq!(fs::read_to_string(path).unwrap(), "x");
}

#[test]
fn a_new_file_never_takes_the_place_of_another() {
    let project = Project::new();
    create(&project.root, "a/b/new.md", "new\n").unwrap();
    assert_eq!(read(&project.root, "a/b/new.md", Lines::all()).unwrap().content, "new\n");
    let again = create(&project.root, "a/b/new.md", "other\n");
    fails(again, "`a/b/new.md` exists and is not replaced");
    fails(create(&project.root, "a/b", "x"), "`a/b` is a folder, not a file");
    assert_eq!(read(&project.root, "a/b/new.md", Lines::all()).unwrap().content, "new\n");
    let folder = project.outer().join("project/a/b");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "the temporary file is gone");
}

/// Does something on a thread that gets an error from one system call.
#[cfg(target_os = "linux")]
fn without_call(call: i64, errno: i32, work: impl FnOnce() + Send) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    let action = SeccompAction::Errno(errno.unsigned_abs());
    let rules = [(call, Vec::new())].into();
    let target = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, target).unwrap();
    let program = BpfProgram::try_from(filter).unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            apply_filter(&program).unwrap();
            work();
        });
        thread.join().unwrap();
    });
}

/// A file system without links, and a kernel without the rename that takes no other file's place.
#[test]
#[cfg(target_os = "linux")]
fn a_new_file_needs_no_more_than_one_way_to_its_name() {
    use nix::libc::{EINVAL, ENOSYS, EPERM, SYS_linkat, SYS_renameat2};

    for (call, errno) in [(SYS_linkat, EPERM), (SYS_renameat2, ENOSYS), (SYS_renameat2, EINVAL)] {
        let project = Project::new();
        without_call(call, errno, || {
            create(&project.root, "new.md", "new\n").unwrap();
            let again = create(&project.root, "new.md", "other\n");
            fails(again, "`new.md` exists and is not replaced");
        });
        let folder = project.outer().join("project");
        assert_eq!(fs::read_to_string(folder.join("new.md")).unwrap(), "new\n");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "the temporary file is gone");
    }
}

#[test]
fn of_several_that_create_one_file_one_succeeds() {
    let project = Project::new();
    for round in 0..50 {
        let path = format!("new-{round}.md");
        let texts: Vec<String> = (0..4).map(|number| format!("{number}").repeat(5_000)).collect();
        let start = std::sync::Barrier::new(texts.len());
        let made: Vec<bool> = std::thread::scope(|scope| {
            let begin = |text: &String| {
                let (project, path, start, text) = (&project, &path, &start, text.clone());
                scope.spawn(move || {
                    start.wait();
                    create(&project.root, path, &text).is_ok()
                })
            };
            let threads: Vec<_> = texts.iter().map(begin).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
        let winner = made.iter().position(|made| *made).unwrap();
        assert_eq!(read(&project.root, &path, Lines::all()).unwrap().content, texts[winner]);
    }
}

#[test]
fn a_root_must_be_a_folder() {
    let project = Project::new();
    let path = project.outer().join("none");
    let error = Root::open(&path).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot open the project folder `{}`", path.display()));
}

/// A folder that turns into a link and back, while it is written through, never lets a byte out.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_swapped_for_a_link_lets_nothing_out() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    let project = Project::new();
    project.file("outside/keep", "");
    project.file("project/.ai/threads/keep", "");
    let at = |path: &str| project.outer().join("project").join(path);
    fs::create_dir(at("door")).unwrap();
    symlink("../outside", at("door-out")).unwrap();
    symlink(".ai/threads", at("door-threads")).unwrap();
    let swap = |a: &str, b: &str| {
        // Both names exist all the time: a door that is missing would only be made anew.
        renameat_with(CWD, at(a), CWD, at(b), RenameFlags::EXCHANGE).unwrap();
    };
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            for link in ["door-out", "door-threads"].into_iter().cycle().take(2000) {
                swap("door", link);
                swap("door", link);
            }
        });
        while !swapper.is_finished() {
            // Only where the bytes go matters here; that some attempts fail is expected.
            let _ = write(&project.root, "door/x", "x");
        }
    });
    assert_eq!(fs::read_dir(project.outer().join("outside")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(at(".ai/threads")).unwrap().count(), 1);
}
