//! Directives as skills: the extension `io.modelcontextprotocol/skills` (SEP-2640).
//!
//! A skill has one file, a `SKILL.md` that tells how to call the directive through this server. So the directive itself decides, and its
//! signature counts at each call.

use rmcp::model::{
    GetSkillResult, ListResourcesResult, ListSkillsResult, MetaObject, ReadResourceResult,
    Resource, ResourceContents, Skill, SkillFrontmatter, SkillResource, SkillResources,
};
use rye_parse::{Directive, nearest_name};
use rye_port::{Access, ExportedSkill, skill, skill_names};
use rye_project::Project;
use rye_project::primary::{Caller, item_facts};
use rye_resolve::{Item, ItemId};
use rye_sign::Provenance;
use rye_types::ItemKind;
use serde_json::{Value, json};

use super::error::RequestError;
use super::followed::{Page, may_follow, page};
use super::host::ServerHost;

/// The member of a skill's `_meta` that says what it is made of. The protocol has none for a signature.
const ORIGIN: &str = "io.github.rye-os/directive";

const COVERS: &str =
    "the file of the directive, of which the server made the files of this skill; not these files";

/// Returns one page of the skills, sorted by the ids of their directives.
pub(super) fn list(
    host: &ServerHost,
    after: Option<&str>,
) -> Result<ListSkillsResult, RequestError> {
    let Page { items, next } = made(host, after, |made| made.entry())?;
    let mut result = ListSkillsResult::with_all_items(items);
    result.next_cursor = next;
    Ok(result)
}

/// Returns one page of the files of the skills, as resources.
pub(super) fn resources(
    host: &ServerHost,
    after: Option<&str>,
) -> Result<ListResourcesResult, RequestError> {
    let Page { items, next } = made(host, after, |made| made.resource())?;
    let mut result = ListResourcesResult::with_all_items(items);
    result.next_cursor = next;
    Ok(result)
}

/// Returns the skill with this URI.
pub(super) fn get(host: &ServerHost, uri: &str) -> Result<GetSkillResult, RequestError> {
    Ok(GetSkillResult::new(find(host, uri)?.entry()))
}

/// Returns the file with this URI.
pub(super) fn read(host: &ServerHost, uri: &str) -> Result<ReadResourceResult, RequestError> {
    let made = find(host, uri)?;
    let contents = ResourceContents::text(made.skill.text, made.uri).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]))
}

const MARKDOWN: &str = "text/markdown";

/// A skill with what its directive says of itself.
struct Made {
    uri: String,
    title: Option<String>,
    skill: ExportedSkill,
    origin: Value,
}

impl Made {
    /// Makes the skill `name`. A directive that nobody signed is none, even where the operator allows unsigned items.
    fn of(item: &Item<Directive>, name: &str) -> Option<Self> {
        if !matches!(item.content.provenance(), Provenance::Builtin | Provenance::Signed(_)) {
            return None;
        }
        let directive = item.content.value();
        let mut origin = item_facts(item);
        origin.insert("covers".to_owned(), COVERS.into());
        Some(Self {
            uri: uri_of(name),
            title: directive.title.as_ref().map(|title| title.value.clone()),
            skill: skill(&item.id, directive, name, Access::ThisServer),
            origin: origin.into(),
        })
    }

    fn entry(&self) -> Skill {
        let written = &self.skill.frontmatter;
        let mut frontmatter = SkillFrontmatter::new(&written.name, &written.description);
        frontmatter.extra = written.more.clone();
        let file = SkillResource::from_bytes(&self.uri, self.skill.text.as_bytes());
        let entry = Skill::new(&self.uri, frontmatter, SkillResources::Files(vec![file]));
        entry.with_meta(self.meta())
    }

    fn resource(&self) -> Resource {
        let frontmatter = &self.skill.frontmatter;
        let resource = Resource::new(&self.uri, &frontmatter.name)
            .with_description(&frontmatter.description)
            .with_mime_type(MARKDOWN)
            .with_size(self.skill.text.len() as u64)
            .with_meta(self.meta());
        match &self.title {
            Some(title) => resource.with_title(title),
            None => resource,
        }
    }

    fn meta(&self) -> MetaObject {
        let members = json!({ ORIGIN: self.origin });
        MetaObject(members.as_object().cloned().unwrap_or_default())
    }
}

fn made<T>(
    host: &ServerHost,
    after: Option<&str>,
    make: impl Fn(&Made) -> T,
) -> Result<Page<T>, RequestError> {
    let rye = host.rye()?;
    let names = names(&rye);
    Ok(page(&rye, &host.caller(), after, |item| {
        let (_, name) = names.iter().find(|(id, _)| *id == item.id)?;
        Made::of(item, name).map(|made| make(&made))
    }))
}

/// Finds the skill with this URI among those of the client.
fn find(host: &ServerHost, uri: &str) -> Result<Made, RequestError> {
    let rye = host.rye()?;
    let caller = host.caller();
    let names = names(&rye);
    let named = names.iter().find(|(id, name)| uri_of(name) == uri && may_follow(&caller, id));
    let made = named.and_then(|(id, name)| {
        let item = rye.library().directive(id).ok()?;
        Made::of(&item, name)
    });
    made.ok_or_else(|| unknown(&rye, &caller, &names, uri))
}

/// The name of each directive's skill. The names of all directives are made together, so that the rights of a client change none.
fn names(project: &Project) -> Vec<(ItemId, String)> {
    let survey = project.library().survey(ItemKind::Directive);
    let ids: Vec<ItemId> = survey.items.into_iter().map(|listed| listed.id).collect();
    let names = skill_names(&ids.iter().map(ItemId::as_str).collect::<Vec<_>>());
    ids.into_iter().zip(names).collect()
}

fn uri_of(name: &str) -> String {
    format!("{SCHEME}{name}/{FILE}")
}

const SCHEME: &str = "skill://";
const FILE: &str = "SKILL.md";

fn unknown(
    project: &Project,
    caller: &Caller,
    names: &[(ItemId, String)],
    uri: &str,
) -> RequestError {
    let given = uri.trim_start_matches(SCHEME).trim_end_matches(FILE).trim_matches('/');
    let known = names.iter().filter(|(id, _)| may_follow(caller, id));
    let near = nearest_name(given, known.map(|(_, name)| name.as_str()));
    let is_skill = |near: &&str| {
        let named = names.iter().find(|(_, name)| name == near);
        let item = named.and_then(|(id, name)| Some((project.library().directive(id).ok()?, name)));
        item.is_some_and(|(item, name)| Made::of(&item, name).is_some())
    };
    let near = near.filter(is_skill).map(uri_of);
    RequestError::UnknownSkill { uri: uri.escape_debug().to_string(), near }
}
