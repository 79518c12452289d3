//! A project to try things in.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rye_caps::{Authority, Capability, Grant, Layer, LayerName};
use rye_thread::{AuthorisedCall, Palette, PaletteEntry, ToolOutput, ToolSpec};
use rye_tools::builtin;
use rye_tools::fs::Root;
use rye_types::Effect;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A project beside a folder that it must not reach.
pub(crate) struct Project {
    outer: TempDir,
    pub(crate) root: Root,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::over(tempfile::tempdir().unwrap())
    }

    pub(crate) fn over(outer: TempDir) -> Self {
        fs::create_dir(outer.path().join("project")).unwrap();
        let root = Root::open(&outer.path().join("project")).unwrap();
        Self { outer, root }
    }

    pub(crate) fn outer(&self) -> &Path {
        self.outer.path()
    }

    /// Writes a file by its path below the folder that holds the project.
    #[track_caller]
    pub(crate) fn file(&self, path: &str, content: &str) {
        let path = self.outer().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Everything in and beside the project.
    pub(crate) fn everything(&self) -> BTreeMap<String, Entry> {
        collect(self.outer(), |path| fs::read(path).ok())
    }

    /// What came, went, or looks different, without reading anything: by path.
    pub(crate) fn changes_since_unread(&self, before: &BTreeMap<String, Entry>) -> Vec<String> {
        let now = collect(self.outer(), |_| None);
        let all = now.keys().chain(before.keys());
        let looks =
            |all: &BTreeMap<String, Entry>, path| all.get(path).map(|entry| entry.looks.clone());
        all.filter(|path| looks(&now, *path) != looks(before, *path)).cloned().collect()
    }

    /// Files that came, went or say something else, by path.
    pub(crate) fn changed_content(&self, before: &BTreeMap<String, Entry>) -> Vec<String> {
        let now = self.everything();
        let all = now.keys().chain(before.keys());
        let content =
            |all: &BTreeMap<String, Entry>, path| all.get(path).map(|entry| entry.content.clone());
        all.filter(|path| content(&now, *path) != content(before, *path)).cloned().collect()
    }

    /// The user who made it.
    pub(crate) fn user(&self) -> u32 {
        fs::metadata(self.outer()).unwrap().uid()
    }

    /// What came, went or became something else, by path.
    pub(crate) fn changes_since(&self, before: &BTreeMap<String, Entry>) -> Vec<String> {
        let now = self.everything();
        let all = now.keys().chain(before.keys());
        all.filter(|path| now.get(*path) != before.get(*path)).cloned().collect()
    }
}

/// One thing on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    content: Option<Vec<u8>>,
    /// Kind, mode, owner, size, and the times of the last changes, or the target of a link.
    looks: String,
}

fn collect(
    base: &Path,
    content: impl Fn(&Path) -> Option<Vec<u8>> + Copy,
) -> BTreeMap<String, Entry> {
    let (mut all, mut folders) = (BTreeMap::new(), vec![base.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_file() { content(&path) } else { None };
            let name = path.strip_prefix(base).unwrap().display().to_string();
            all.insert(name, Entry { content, looks: looks(&path, &metadata) });
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    all
}

fn looks(path: &Path, metadata: &fs::Metadata) -> String {
    let kind = (metadata.mode(), metadata.uid(), metadata.gid());
    if metadata.is_symlink() {
        return format!("{kind:?} {}", fs::read_link(path).unwrap().display());
    }
    let times = (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec());
    format!("{kind:?} {} {} {times:?}", metadata.size(), metadata.nlink())
}

/// Calls a file tool as a thread does.
pub(crate) fn call(root: &Root, tool: &str, arguments: Value) -> ToolOutput {
    let tool = builtin(&format!("file-system/{tool}"), root).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(tool.call(authorised(arguments)))
}

/// An authorised call with these arguments: none of these tools looks at its permit, and none can be called without.
pub(crate) fn authorised(arguments: Value) -> AuthorisedCall {
    let capability: Capability = "rye.execute.tool.test.any".parse().unwrap();
    let spec = ToolSpec::new("any", "Any tool.", json!({}));
    let tool = Arc::new(|_: Value| ToolOutput::ok(Value::Null));
    let entry = PaletteEntry::new("test/any", spec, capability, Effect::Once, tool);
    let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
    Palette::new(vec![entry])
        .unwrap()
        .authorise(&authority, "test/any", arguments)
        .unwrap()
        .unwrap()
}
