//! Checks of files against everything around them: the items of all spaces, signatures, configuration and risk (SPEC 12.1a).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rye_caps::Layer;
use rye_resolve::{
    ItemId, ResolveError, Space, TrustNote, TrustSubject, fault_of_place, fault_of_plain_place,
    item_at, nearest_id,
};
use rye_sign::PublicKey;
use rye_thread::DIRECTIVE_RETURN;
use rye_types::ItemKind;

use super::catalog::{Catalog, Content, Fault, Loaded};
use super::finding::FORM_ONLY;
use super::judged::Judged;
use super::{
    Checked, Finding, approval, bounds, calls, denied, finish, foreign, form, grants, metadata,
    of_space, placing, references, signature, starts, tool, vouching,
};
use crate::causes::with_causes;
use crate::config::{RISK_FILE, is_hooks, is_provider};
use crate::parallel::in_parallel;
use crate::place::{kind_of, place};
use crate::project::Texts;
use crate::signing::{SignError, SignFileError, instead_of_link, linked_target};
use crate::verify::is_plain_file;
use crate::{OpenError, Project, Setup};

/// Checks files as parts of a project.
///
/// The ids of all spaces are gathered when it is made, and a directive that others extend is read once.
pub struct Checker<'a> {
    catalog: Catalog<'a>,
    /// The folders that were looked at, each with whether a link leads to it.
    linked_folders: Mutex<HashMap<PathBuf, bool>>,
}

/// Spaces that are opened for checking and signing alone.
///
/// Nothing can be run with them, so that `config/trust.yaml` may be unsigned or broken, which checking tells and signing mends.
#[derive(Debug)]
pub struct SpacesToCheck {
    project: Project,
    setup: Setup,
}

impl SpacesToCheck {
    /// Reads the trust documents and, as far as it can be had, the trust policy.
    ///
    /// # Errors
    ///
    /// When a trust document cannot be read, or one that was handed over cannot be trusted.
    pub fn open(setup: &Setup) -> Result<Self, OpenError> {
        Self::open_over(setup.clone(), &Texts::default())
    }

    /// The same spaces as they are when files have the `texts` that they are about to have.
    pub(crate) fn with_texts(&self, texts: &Texts) -> Result<Self, OpenError> {
        Self::open_over(self.setup.clone(), texts)
    }

    fn open_over(setup: Setup, texts: &Texts) -> Result<Self, OpenError> {
        let project = Project::open_over(&setup, texts)
            .or_else(|_| Project::open_without_trust_config(&setup, texts))?;
        Ok(Self { project, setup })
    }

    /// A checker over the items as they are now.
    #[must_use]
    pub fn checker(&self) -> Checker<'_> {
        self.project.checker()
    }

    /// The notes on revocation lists that do not count, or that should be signed again.
    #[must_use]
    pub fn warnings_of_lists(&self) -> Vec<String> {
        let notes =
            self.notes_on_lists().filter(|note| note.is_warning() && !note.is_broken_list());
        notes.map(ToString::to_string).collect()
    }

    /// The notes on revocation lists that were changed or cannot be read. Whoever trusts them takes trust away from nobody.
    #[must_use]
    pub fn broken_lists(&self) -> Vec<String> {
        self.notes_on_lists()
            .filter(|note| note.is_broken_list())
            .map(ToString::to_string)
            .collect()
    }

    /// Returns `true` if the file at `path`, which must be absolute, is a plain file of the project and there is a file with its
    /// signature.
    #[must_use]
    pub fn is_signed_plain_file(&self, path: &Path) -> bool {
        is_plain_file(path) && self.project.signed_file_at(path).is_some()
    }

    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    fn notes_on_lists(&self) -> impl Iterator<Item = &TrustNote> {
        let notes = self.project.trust_notes().iter();
        notes.filter(|note| note.subject == TrustSubject::RevocationList)
    }
}

impl Project {
    /// A checker over the items as they are now.
    #[must_use]
    pub fn checker(&self) -> Checker<'_> {
        Checker { catalog: Catalog::of(self), linked_folders: Mutex::default() }
    }
}

impl std::fmt::Debug for Checker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checker").finish_non_exhaustive()
    }
}

impl Checker<'_> {
    /// Checks files on all processors; the answers are in the order of `paths`, which must be absolute.
    ///
    /// A file that cannot be read, or is no text, has that as its finding.
    #[must_use]
    pub fn check_files(&self, paths: &[PathBuf]) -> Vec<Checked> {
        let among: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let mut checked = in_parallel(paths, |path| self.check_file(path, &among));
        self.suggest(&mut checked);
        tell_once(&mut checked);
        checked
    }

    /// Checks a text as if the file at `path`, which must be absolute, held it.
    #[must_use]
    pub fn check_text(&self, path: &Path, text: &str) -> Checked {
        self.check_text_of(path, text, None)
    }

    /// Refuses a text that has what bars signing with the key `own`, which may grant less than the text needs. Trust documents are
    /// no items, and are judged when they are signed.
    pub(crate) fn judge(
        &self,
        path: &Path,
        text: &str,
        own: Option<&PublicKey>,
    ) -> Result<(), SignFileError> {
        if place(path).is_none() {
            return Ok(());
        }
        match self.check_text_of(path, text, own) {
            checked if checked.is_signable() => Ok(()),
            checked => Err(SignError::Faulty { checked }.into()),
        }
    }

    fn check_text_of(&self, path: &Path, text: &str, signer: Option<&PublicKey>) -> Checked {
        let named = name_of(path, |_| kind_of(path, text));
        let loaded = Loaded::of(text.to_owned(), named.kind, path);
        let known = Known { signer, among: None };
        let mut checked = [self.check_loaded(path, &named, &loaded, known)];
        self.suggest(&mut checked);
        let [checked] = checked;
        checked
    }

    fn check_file(&self, path: &Path, among: &HashSet<&Path>) -> Checked {
        let known = Known { signer: None, among: Some(among) };
        let placed = place(path);
        let on_shelf = placed.as_ref().and_then(|(kind, id)| self.catalog.at(*kind, id, path));
        match (placed, on_shelf) {
            (Some((kind, id)), Some(loaded)) => {
                self.check_loaded(path, &Named { kind, id: Some(id) }, loaded, known)
            }
            (Some((kind, id)), None) => {
                let loaded = Loaded::read(path, |_| kind);
                self.check_loaded(path, &Named { kind, id: Some(id) }, &loaded, known)
            }
            (None, _) => {
                let loaded = Loaded::read(path, |text| kind_of(path, text));
                let kind = kind_of(path, &loaded.source);
                self.check_loaded(path, &Named { kind, id: None }, &loaded, known)
            }
        }
    }

    /// Checks what was read at `path`.
    fn check_loaded(
        &self,
        path: &Path,
        named: &Named,
        loaded: &Loaded,
        known: Known<'_>,
    ) -> Checked {
        let Named { kind, id } = named;
        let target = self.linked_target(path);
        let fault = match (&target, &loaded.fault) {
            (None, None) => fault_of_plain_place(path),
            _ => fault_of_place(path),
        };
        let mut findings = match (fault, &loaded.fault) {
            (Some(fault), _) => vec![of_place(&fault)],
            (None, Some(fault)) => vec![of_fault(fault)],
            (None, None) => {
                let mut findings = form(path, *kind, id.as_ref(), loaded);
                findings.extend(self.around(path, named, loaded, (target.as_deref(), known)));
                findings
            }
        };
        findings.extend(foreign::finding(path, &loaded.source, &findings));
        finish(path, *kind, id.as_ref(), loaded.source.clone(), findings)
    }

    /// The target of a file that is reached by a link. Each folder is looked at once.
    fn linked_target(&self, path: &Path) -> Option<PathBuf> {
        let is_linked = path.is_symlink() || {
            let folder = path.parent()?;
            let mut known = self.linked_folders.lock().unwrap_or_else(PoisonError::into_inner);
            match known.get(folder) {
                Some(is_linked) => *is_linked,
                None => {
                    let is_linked = linked_target(folder).is_some();
                    known.insert(folder.to_owned(), is_linked);
                    is_linked
                }
            }
        };
        if is_linked { linked_target(path) } else { None }
    }

    /// The findings that follow from what is around the file, which a link leads to if there is a `target`.
    fn around(
        &self,
        path: &Path,
        named: &Named,
        loaded: &Loaded,
        (target, Known { signer, among }): (Option<&Path>, Known<'_>),
    ) -> Vec<Finding> {
        let kind = named.kind;
        let source = loaded.source.as_str();
        let spaces = self.catalog.project.library().spaces();
        let (Some(id), Some((_, _, space))) = (&named.id, item_at(spaces, path)) else {
            return vec![form_only_finding()];
        };
        let mut findings = Vec::new();
        findings.extend(self.catalog.ambiguity(path).map(|message| {
            Finding::error("ambiguous-id", message, 0..0).with_label("another file has the same id")
        }));
        findings.extend(self.catalog.in_other_case(path).map(|other| {
            let message = format!("the id `{id}` differs only in case from `{other}`");
            Finding::warning(OTHER_CASE, &message, 0..0)
                .with_label("one file on some systems")
                .with_help("rename one of them: where case does not matter, one replaces the other")
        }));
        findings.extend(target.map(of_link));
        let signature = || self.catalog.signature_of(path, (kind, id), loaded);
        let signature = (space != Space::Builtin).then(signature);
        findings.extend(signature.as_deref().and_then(|it| it.finding()).cloned());
        let is_vouched =
            findings.iter().all(|finding| [LINKED, OTHER_CASE].contains(&finding.code));
        let to_be = signer.map(|key| signature::of_key(self.catalog.project, path, key));
        let signers = to_be.as_ref().or(signature.as_deref()).map_or(&[][..], |it| it.bounds());
        match &loaded.content {
            Content::Directive(Ok(directive)) => {
                let judged = Judged::of(&self.catalog, id, directive);
                findings.extend(self.of_directive(&judged, source, signers));
                let named = among.map(|among| vouching::of_judged(&self.catalog, &judged, among));
                findings.extend(named.into_iter().flatten());
            }
            Content::Knowledge(Ok(knowledge)) => {
                findings.extend(metadata::of_knowledge(knowledge, id, source));
                findings.extend(metadata::template_body(knowledge));
            }
            Content::Tool(Ok(tool)) if !is_provider(id) => {
                findings.extend(tool::namesake_finding(&self.catalog, id, tool));
                findings.extend(tool::around(&self.catalog, tool));
                findings.extend(bounds::of_tool(id, tool, signers));
            }
            Content::Tool(_) if is_provider(id) => {
                findings.extend(bounds::of_provider(id, signers));
            }
            Content::Other if kind == ItemKind::Config => {
                findings.extend(self.of_config(id, path, source));
                let among = among.filter(|_| is_hooks(id));
                findings.extend(
                    among.into_iter().flat_map(|among| {
                        vouching::of_hooks_file(&self.catalog, path, source, among)
                    }),
                );
                findings.extend(of_space(space, path, id, source));
                findings.extend(self.risk(id).filter(|_| is_vouched));
            }
            _ => {}
        }
        findings
    }

    /// The findings about what a directive needs and names. Each of `signers` is the most that its signer may grant.
    fn of_directive(&self, judged: &Judged<'_>, source: &str, signers: &[Layer]) -> Vec<Finding> {
        let catalog = &self.catalog;
        let Judged { id, leaf: directive, chain, .. } = judged;
        let granted = grants::findings(catalog, judged);
        let is_denied = granted.iter().any(|it| it.code == denied::MISSING_PERMISSION);
        let mut findings = Vec::new();
        findings.extend(metadata::of_directive(directive, id, chain, is_denied));
        findings.extend(metadata::template_description(directive));
        findings.extend(metadata::inherited_limits(chain, &catalog.limits));
        findings.extend(references::of_directive(catalog, judged));
        findings.extend(placing::unplaced_inputs(directive, chain, source));
        findings.extend(calls::findings(catalog, judged, source));
        findings.extend(granted);
        findings.extend(bounds::findings(catalog, judged, signers));
        findings.extend(starts::findings(catalog, judged));
        findings
    }

    /// The findings about what configuration names.
    fn of_config(&self, id: &ItemId, path: &Path, source: &str) -> Vec<Finding> {
        let mut findings = references::of_config(&self.catalog, id, path, source);
        findings.extend(approval::findings(&self.catalog, id, path, source));
        findings.extend(references::default_provider(&self.catalog, id, path, source));
        findings
    }

    /// The finding about a risk table that no run can use, at the file of the project.
    fn risk(&self, id: &ItemId) -> Option<Finding> {
        let reason = self.catalog.risk.as_ref().err().filter(|_| id.as_str() == RISK_FILE)?;
        let finding = Finding::error("unusable-risk", reason, 0..0);
        Some(finding.with_label("every run is refused"))
    }

    /// Fills in the nearest id for references that lead nowhere. Looking for one is slow, so only the first few that are
    /// missing get it.
    fn suggest(&self, checked: &mut [Checked]) {
        // The program answers to it, and no file has it.
        let returning: Option<ItemId> = DIRECTIVE_RETURN.parse().ok();
        let mut known: BTreeMap<ItemKind, Vec<&ItemId>> = BTreeMap::new();
        let mut near: BTreeMap<(ItemKind, ItemId), Option<ItemId>> = BTreeMap::new();
        let findings = checked.iter_mut().flat_map(|checked| &mut checked.findings);
        for finding in findings {
            let Some(missing) = finding.missing.take() else { continue };
            if near.len() == MOST_SUGGESTIONS && !near.contains_key(&missing) {
                continue;
            }
            let ids = known.entry(missing.0).or_insert_with(|| {
                let returning = returning.as_ref().filter(|_| missing.0 == ItemKind::Tool);
                self.catalog.ids(missing.0).into_iter().chain(returning).collect()
            });
            let found = near.entry(missing).or_insert_with_key(|(kind, id)| {
                nearest_id(*kind, id, ids.iter().copied()).cloned()
            });
            if let Some(found) = found {
                let otherwise = finding.help.take().unwrap_or_default();
                finding.help = Some(format!("did you mean `{found}`? Otherwise {otherwise}"));
            }
        }
        checked.iter_mut().for_each(|checked| grants::settle_unknown(&mut checked.findings));
    }
}

/// Keeps the first of the findings with one shared cause, and says how many other files have it.
fn tell_once(checked: &mut [Checked]) {
    let mut files: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for checked in &*checked {
        for cause in checked.findings.iter().filter_map(|finding| finding.shared.clone()) {
            files.entry(cause).or_default().insert(checked.path.clone());
        }
    }
    for checked in checked {
        checked.findings.retain_mut(|finding| {
            let Some(cause) = &finding.shared else { return true };
            let Some(files) = files.remove(cause) else { return false };
            match files.len() - 1 {
                0 => {}
                1 => finding.message.push_str("; 1 other directive does not, either"),
                others => {
                    finding
                        .message
                        .push_str(&format!("; {others} other directives do not, either"));
                }
            }
            true
        });
    }
}

/// The number of references that get a suggestion.
const MOST_SUGGESTIONS: usize = 50;

/// Knowledge about a file beside its text.
#[derive(Clone, Copy)]
struct Known<'k> {
    /// The key that is about to sign it, in the place of the one that did.
    signer: Option<&'k PublicKey>,
    /// The files among which it is checked, where the items that it names have to be vouched for.
    among: Option<&'k HashSet<&'k Path>>,
}

/// The sort of item that a file is, and its id where it lies in an `.ai` folder.
struct Named {
    kind: ItemKind,
    id: Option<ItemId>,
}

fn name_of(path: &Path, otherwise: impl FnOnce(&Path) -> ItemKind) -> Named {
    match place(path) {
        Some((kind, id)) => Named { kind, id: Some(id) },
        None => Named { kind: otherwise(path), id: None },
    }
}

fn form_only_finding() -> Finding {
    let message = "the file lies in no space of this project, so that only its form is checked";
    Finding::remark(FORM_ONLY, message, 0..0)
        .with_label("what it names is not looked up")
        .with_help(
            "run `rye check` in the project that it belongs to, or name that with `--project`",
        )
}

/// The code of the finding for ids that differ only in case.
const OTHER_CASE: &str = "differs-in-case";

/// The code of the finding for a file that is reached by a link.
const LINKED: &str = "linked";

/// The finding about an item that is reached by a link inside of its space. It is read there, and not signed.
fn of_link(target: &Path) -> Finding {
    let message = format!("reached by a link, to `{}`", target.display());
    Finding::remark(LINKED, &message, 0..0)
        .with_label("signed under another name")
        .with_help(&format!("a signature holds for one name: {}", instead_of_link(target)))
}

/// The one finding of a file that can be no item where it lies.
fn of_place(fault: &ResolveError) -> Finding {
    let code = fault.code_of_place().unwrap_or("no-item");
    Finding::error(code, &with_causes(fault), 0..0).with_label("no item")
}

/// The one finding of a file without a text.
fn of_fault(fault: &Fault) -> Finding {
    match fault {
        Fault::NotText { at, told } => {
            let replaced = *at..at + char::REPLACEMENT_CHARACTER.len_utf8();
            Finding::error("not-utf-8", &format!("the file {told}"), replaced)
        }
        Fault::Unreadable(reason) => {
            let message = format!("the file cannot be read: {reason}");
            Finding::error("unreadable", &message, 0..0)
        }
    }
}
