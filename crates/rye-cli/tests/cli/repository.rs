//! A git repository made without git: the project as it stands becomes one commit after another.

use std::fs;
use std::path::Path;

use gix::ObjectId;
use gix::objs::Tree;
use gix::objs::tree::{Entry, EntryKind};

/// Makes the project a repository when it is none, and its `.ai` folder the whole content of a new commit.
pub(crate) fn commit(project: &Path, message: &str) {
    commit_with(project, message, &[]);
}

/// Makes a commit of the project's `.ai` folder and of these files beside it.
pub(crate) fn commit_with(project: &Path, message: &str, files: &[&str]) {
    let repository = match gix::open_opts(project, gix::open::Options::isolated()) {
        Ok(repository) => repository,
        Err(_) => gix::init(project).unwrap(),
    };
    let ai = tree(&repository, &project.join(".ai"));
    let mut entries = vec![entry(".ai", EntryKind::Tree, ai)];
    entries.extend(files.iter().map(|name| {
        let bytes = fs::read(project.join(name)).unwrap();
        entry(name, EntryKind::Blob, repository.write_blob(bytes).unwrap().detach())
    }));
    entries.sort();
    let root = Tree { entries };
    record(&repository, message, repository.write_object(&root).unwrap().detach());
}

fn record(repository: &gix::Repository, message: &str, root: ObjectId) {
    let who =
        gix::actor::SignatureRef::from_bytes(b"Ada <ada@example.org> 1700000000 +0000").unwrap();
    let parents: Vec<ObjectId> =
        repository.head_id().ok().map(gix::Id::detach).into_iter().collect();
    repository.commit_as(who, who, "HEAD", message, root, parents).unwrap();
}

/// A commit of a few objects whose knowledge is a million files, because each folder holds the one below it ten times.
pub(crate) fn commit_a_million_files(project: &Path) {
    let repository = gix::init(project).unwrap();
    let blob = repository.write_blob("x").unwrap().detach();
    let mut inner = tenfold(&repository, EntryKind::Blob, blob);
    for _ in 0..5 {
        inner = tenfold(&repository, EntryKind::Tree, inner);
    }
    for name in ["knowledge", ".ai"] {
        let entries = vec![entry(name, EntryKind::Tree, inner)];
        inner = repository.write_object(&Tree { entries }).unwrap().detach();
    }
    record(&repository, "many", inner);
}

fn tenfold(repository: &gix::Repository, kind: EntryKind, inner: ObjectId) -> ObjectId {
    let entries = (0..10).map(|number| entry(&format!("e{number}.md"), kind, inner)).collect();
    repository.write_object(&Tree { entries }).unwrap().detach()
}

fn tree(repository: &gix::Repository, folder: &Path) -> ObjectId {
    let mut entries: Vec<Entry> = fs::read_dir(folder)
        .unwrap()
        .map(|found| {
            let found = found.unwrap();
            let name = found.file_name().into_string().unwrap();
            if found.file_type().unwrap().is_dir() {
                entry(&name, EntryKind::Tree, tree(repository, &found.path()))
            } else {
                let bytes = fs::read(found.path()).unwrap();
                entry(&name, EntryKind::Blob, repository.write_blob(bytes).unwrap().detach())
            }
        })
        .collect();
    entries.sort();
    repository.write_object(&Tree { entries }).unwrap().detach()
}

fn entry(name: &str, kind: EntryKind, oid: ObjectId) -> Entry {
    Entry { mode: kind.into(), filename: name.into(), oid }
}
