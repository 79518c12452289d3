//! Items of Rye that come along with a skill or a plugin of directives (SPEC 17.4).

use rye_parse::ContextContent;
use rye_resolve::ItemId;
use rye_sign::without_signature_line;
use rye_types::ItemKind;
use serde_json::Value;

use super::{ImportError, Importer, unreadable};
use crate::document::comment;
use crate::draft::ImportedDraft;
use crate::fields::Fields;
use crate::format::Format;
use crate::report::Account as _;
use crate::source::SourceFile;

/// The member of a skill's `metadata` that names the directive of Rye that the skill calls or holds.
pub(crate) const MARK: &str = "rye-directive";

/// The file of a skill that holds its directive.
pub(crate) const DIRECTIVE: &str = "directive.md";

/// The folder of a plugin that belongs to Rye. It is a project with the items of the skills.
pub(crate) const PLUGIN_PROJECT: &str = "io.github.rye-os.rye";

/// Takes the id of the directive that a skill was made of; `None` for a skill of another program.
pub(super) fn take_mark(fields: &mut Fields) -> Option<ItemId> {
    let metadata = fields.peek("metadata")?;
    let id = metadata.get(MARK).and_then(Value::as_str)?.parse().ok()?;
    fields.keep_members("metadata", |name| name != MARK);
    Some(id)
}

/// Imports an item as it is, but for its signature and for what it grants.
pub(super) fn read(
    importer: &mut Importer,
    file: &SourceFile,
    format: Format,
    kind: ItemKind,
    id: ItemId,
) -> Result<(), ImportError> {
    importer.take(&file.path);
    if id.as_str().starts_with("rye/") {
        let reason = format!("{kind} `{id}` comes with Rye, and a source replaces nothing of it");
        importer.leave(&file.path, "", &reason);
        return Ok(());
    }
    let text = importer.text(file, format)?;
    let extension = file.path.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned();
    let plain = without_signature_line(&text);
    if plain != text {
        importer.leave(
            &file.path,
            "the signature",
            "it is for the bytes that it was made for; read the draft and sign it",
        );
    }
    let plain = match kind {
        ItemKind::Directive => without_grants(importer, file, format, &plain, &id)?,
        _ => plain,
    };
    importer.carry(&file.path, "the whole file", &format!("{kind} `{id}`"));
    importer.keep(ImportedDraft::new(kind, id, &extension, plain, &file.path));
    Ok(())
}

/// Puts an empty `<permissions>` in the place of what a directive declares, and the declaration into a comment.
fn without_grants(
    importer: &mut Importer,
    file: &SourceFile,
    format: Format,
    text: &str,
    id: &ItemId,
) -> Result<String, ImportError> {
    let directive =
        rye_parse::directive(text).map_err(|error| unreadable(file, format, &error.to_string()))?;
    let declared = directive.permissions.as_ref();
    let (range, raw) = match declared {
        Some(permissions) => (permissions.span.clone(), permissions.value.raw.clone()),
        None => (place_of_permissions(text, directive.name.span.start), String::new()),
    };
    if !directive.hooks.is_empty() {
        let path = format!("{}/{id}.md", ItemKind::Directive.folder());
        importer.decide(
            &path,
            "read its `<hooks>`: what they do needs permissions, which it does not have",
        );
    }
    if directive.limits != rye_parse::Limits::default() {
        let path = format!("{}/{id}.md", ItemKind::Directive.folder());
        importer.decide(&path, "read its `<limits>`, which are as the source has them");
    }
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let comment = if raw.is_empty()
        || declared
            .is_some_and(|it| it.value.entries.is_empty() && it.value.acknowledged.is_empty())
    {
        String::new()
    } else {
        importer.leave(
            &file.path,
            "<permissions>",
            "nothing foreign becomes a grant; a comment in the draft has the declaration",
        );
        format!(
            "<!-- The directive declared this. Nothing of it is granted:\n{}\n-->\n",
            comment(&raw)
        )
    };
    let draft = format!("{before}{comment}<permissions></permissions>{after}");
    let is_empty =
        |it: &rye_parse::Permissions| it.entries.is_empty() && it.acknowledged.is_empty();
    let read = rye_parse::directive(&draft).ok();
    match read.and_then(|directive| directive.permissions) {
        Some(permissions) if is_empty(&permissions.value) => Ok(draft),
        _ => Err(unreadable(file, format, "its `<permissions>` cannot be taken out")),
    }
}

/// The place for the permissions of a directive that declares none: at the start of its metadata.
fn place_of_permissions(text: &str, name: usize) -> std::ops::Range<usize> {
    let rest = text.get(name..).unwrap_or_default();
    let place = match rest.find("<metadata>") {
        Some(at) => name + at + "<metadata>".len(),
        None => name + rest.find('>').map_or(rest.len(), |end| end + 1),
    };
    place..place
}

/// Says which items a directive names that do not come along with a skill.
pub(super) fn name_needs(importer: &mut Importer, id: &ItemId) {
    let drafts = importer.import.drafts.iter();
    let text = drafts.rev().find(|draft| draft.id == *id).map(|draft| draft.text.clone());
    let Some(directive) = text.and_then(|text| rye_parse::directive(&text).ok()) else { return };
    let extended = directive.extends.iter().map(|id| format!("directive `{}`", id.value));
    let context = directive.context.iter().filter_map(|entry| match &entry.value.content {
        ContextContent::Knowledge(id) => Some(format!("knowledge `{id}`")),
        ContextContent::File(path) => Some(format!("the file `{path}`")),
        ContextContent::Inline(_) => None,
    });
    let path = format!("{}/{id}.md", ItemKind::Directive.folder());
    for needed in extended.chain(context).filter(|needed| !needed.contains("`rye/")) {
        importer.decide(&path, &format!("it needs {needed}, unless the project has that"));
    }
}

/// Returns `true` for a trust document that comes along with a plugin.
pub(super) fn is_trust_document(inside: &str) -> bool {
    let below = inside.strip_prefix(PLUGIN_PROJECT).and_then(|path| path.strip_prefix("/trust/"));
    below.is_some_and(|path| path.ends_with(".toml"))
}

/// The kind and id of a file in the folder of a plugin's items; `None` for one that is no item.
pub(super) fn place(inside: &str) -> Option<(ItemKind, ItemId)> {
    let below = inside.strip_prefix(PLUGIN_PROJECT)?.strip_prefix("/.ai/")?;
    let kinds = [ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool];
    kinds.into_iter().find_map(|kind| {
        let path = below.strip_prefix(kind.folder())?.strip_prefix('/')?;
        let (stem, extension) = path.rsplit_once('.')?;
        let id = stem.parse().ok()?;
        kind.extensions().contains(&extension).then_some((kind, id))
    })
}
