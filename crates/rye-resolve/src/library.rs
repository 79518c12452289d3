//! Verified items of ids.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_parse::{Directive, Knowledge, ParseError, ToolManifest};
use rye_sign::{
    CommentStyle, Error, ItemName, Policy, PublicKey, Shown, TrustStore, Unverified, Verified,
    accept, accept_detached,
};
use rye_types::{ItemKind, Timestamp};

use crate::{
    Config, FilePath, Item, ItemId, Listed, Located, Location, ResolveError, Space, Spaces, Survey,
    decide::decide,
    disk, listing,
    root::{Root, Text},
    suggest::nearest_id,
    walk::walk,
};

/// The items of the spaces, verified with the trusted keys, the policy and the time.
///
/// Each call reads the files as they are then. Only a search may keep hints for the next one, see
/// [`with_search_cache`](Self::with_search_cache).
#[derive(Clone, Debug)]
pub struct Library {
    spaces: Spaces,
    trust: TrustStore,
    /// The keys that files outside of the project are checked against, if they differ.
    trust_outside: Option<Box<TrustStore>>,
    policy: Policy,
    now: Timestamp,
    search_cache: Option<PathBuf>,
    drafts_of: Option<PublicKey>,
    /// The texts that files are about to have.
    texts: Arc<HashMap<PathBuf, String>>,
}

impl Library {
    /// A library over `spaces` that judges the expiry of keys at `now`.
    ///
    /// [`trust_store`](crate::trust_store) makes `trust` from the same spaces.
    pub fn new(spaces: Spaces, trust: TrustStore, policy: Policy, now: Timestamp) -> Self {
        let trust_outside = trust.outside_project().map(Box::new);
        let texts = Arc::default();
        Self {
            spaces,
            trust,
            trust_outside,
            policy,
            now,
            search_cache: None,
            drafts_of: None,
            texts,
        }
    }

    /// Lets searches keep the words of verified items in `folder`, so that the next search reads fewer files.
    ///
    /// Only the operator may have access to the folder; if it is missing, a search makes it. The cache is a
    /// hint: a search reads and verifies every result again before it returns it.
    #[must_use]
    pub fn with_search_cache(self, folder: impl Into<PathBuf>) -> Self {
        Self { search_cache: Some(folder.into()), ..self }
    }

    /// Reads `texts` in the place of the files that are about to have them, each by its path below a space's root. They are verified
    /// like files.
    #[must_use]
    pub fn with_texts(self, texts: Arc<HashMap<PathBuf, String>>) -> Self {
        Self { texts, ..self }
    }

    /// The text that a file is about to have.
    pub fn text_to_be(&self, path: &Path) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Lets items be drafts of the operator, whose present key is `own`, for showing them to a person (SPEC D20).
    #[must_use]
    pub fn showing_drafts(self, own: PublicKey) -> Self {
        Self { drafts_of: Some(own), ..self }
    }

    /// Returns `true` if items may be drafts of the operator.
    pub fn shows_drafts(&self) -> bool {
        self.drafts_of.is_some()
    }

    /// The same library, with drafts refused like other texts that were changed.
    pub fn without_drafts(&self) -> Cow<'_, Self> {
        match self.drafts_of {
            None => Cow::Borrowed(self),
            Some(_) => Cow::Owned(Self { drafts_of: None, ..self.clone() }),
        }
    }

    /// The spaces that are searched.
    pub fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// The keys that signatures of the project's files are checked against.
    pub fn trust(&self) -> &TrustStore {
        &self.trust
    }

    /// The keys that signatures of files in `space` are checked against.
    ///
    /// The revocation list of a project concerns the project's files alone. Otherwise, it would decide about the
    /// operator's own configuration.
    pub fn trust_in(&self, space: Space) -> &TrustStore {
        match (space, &self.trust_outside) {
            (Space::User | Space::System | Space::Builtin, Some(outside)) => outside,
            _ => &self.trust,
        }
    }

    /// The policy that says which weaker signatures are accepted.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The time at which the expiry of keys is judged.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The file that `id` means and the files that it shadows. Only names are looked at; no file is read.
    ///
    /// # Errors
    ///
    /// No space has the id, the nearest space that has it has it twice, or a folder cannot be read.
    pub fn locate(&self, kind: ItemKind, id: &ItemId) -> Result<Located, ResolveError> {
        self.find(kind, id).map(|(_, located)| located)
    }

    /// The verified text of the file that `id` means, signature line included.
    ///
    /// # Errors
    ///
    /// Those of [`locate`](Self::locate); the winner is not a plain UTF-8 file of at most 4 MiB inside its
    /// space; or its signature is missing or not accepted. In none of these cases is a farther space
    /// searched.
    pub fn text(&self, kind: ItemKind, id: &ItemId) -> Result<Item<String>, ResolveError> {
        let (root, located) = self.find(kind, id)?;
        self.read(&root, kind, id, located.winner)
    }

    /// The verified directive that `id` means.
    ///
    /// # Errors
    ///
    /// Those of [`text`](Self::text), and every problem of a file that does not parse.
    pub fn directive(&self, id: &ItemId) -> Result<Item<Directive>, ResolveError> {
        let text = self.text(ItemKind::Directive, id)?;
        parse(text, |source, _| rye_parse::directive(source))
    }

    /// The verified knowledge entry that `id` means; a YAML file is metadata with an empty body. For the id of a plain file, it is the
    /// text of that file, see [`file`](Self::file).
    ///
    /// # Errors
    ///
    /// Those of [`directive`](Self::directive).
    pub fn knowledge(&self, id: &ItemId) -> Result<Item<Knowledge>, ResolveError> {
        if let Some(path) = id.file() {
            return self.file(&path);
        }
        let text = self.text(ItemKind::Knowledge, id)?;
        parse(text, knowledge)
    }

    /// The verified text of a plain file of the project, which directives of the project take into their context (SPEC 17.3). Its
    /// signature is kept in [`FilePath::signature`], and all of its text is the body of the knowledge.
    ///
    /// # Errors
    ///
    /// The project has no such file; a link is on the way to it or to its signature; it is not a plain UTF-8 file of at most
    /// [`FilePath::MAX_BYTES`]; or its signature is missing or not accepted.
    pub fn file(&self, path: &FilePath) -> Result<Item<Knowledge>, ResolveError> {
        let (location, text, signature) = self.file_texts(path)?;
        let id = ItemId::of_file(path);
        let item = item_name(ItemKind::Knowledge, &id);
        let trust = self.trust_in(location.space);
        let signature = signature.as_deref();
        let verified = accept_detached(&text, signature, &item, trust, &self.policy, self.now);
        let draft = || {
            let own = self.drafts_of.as_ref()?;
            let unverified = Unverified::detached(&text, signature?).ok()?;
            unverified.draft(&item, own, trust, self.now).map(Shown::from)
        };
        let content = match verified {
            Ok(verified) => verified.to_owned_text().into(),
            Err(source) => draft().ok_or_else(|| {
                let location = location.clone();
                ResolveError::Unverified { location, source: Box::new(source) }
            })?,
        };
        let item = Item::new(ItemKind::Knowledge, id, location, content);
        Ok(item.map(|text| rye_parse::plain_text(&text)))
    }

    /// The place of a plain file of the project, its text, and the text of the file with its signature. Nothing is verified.
    ///
    /// # Errors
    ///
    /// Those of [`file`](Self::file), but for the signature's.
    pub fn file_texts(
        &self,
        path: &FilePath,
    ) -> Result<(Location, String, Option<String>), ResolveError> {
        let looked = self.spaces.project().map(|it| Location::new(Space::Project, it));
        let missing = || {
            let looked = looked.clone().into_iter().collect();
            let id = ItemId::of_file(path);
            let kind = ItemKind::Knowledge;
            ResolveError::NotFound { kind, id, suggestion: None, other: None, looked }
        };
        let project = self.spaces.project().ok_or_else(missing)?;
        let read = |root: &Path, below: &str, most| match self.text_to_be(&root.join(below)) {
            Some(text) => Ok(Some(text.to_owned())),
            None => disk::read_below(root, below, most),
        };
        let text = read(project, path.as_str(), FilePath::MAX_BYTES)?.ok_or_else(missing)?;
        // The folder `.ai` may be a link, as everywhere.
        let signature = path.signature();
        let below_ai = signature.strip_prefix(".ai/").unwrap_or(&signature);
        let signature = read(&project.join(".ai"), below_ai, SIGNATURE_BYTES)?;
        Ok((Location::new(Space::Project, path.in_project(project)), text, signature))
    }

    /// The verified manifest of the tool that `id` means, from a manifest file or the header of a script.
    ///
    /// # Errors
    ///
    /// Those of [`directive`](Self::directive), and a script without a header.
    pub fn tool(&self, id: &ItemId) -> Result<Item<ToolManifest>, ResolveError> {
        parse(self.text(ItemKind::Tool, id)?, rye_parse::tool)
    }

    /// Every id of `kind` with its winner, sorted.
    ///
    /// # Errors
    ///
    /// Every problem that keeps the list from being complete. [`survey`](Self::survey) returns the rest of
    /// the list all the same.
    pub fn list(&self, kind: ItemKind) -> Result<Vec<Listed>, ResolveError> {
        let Survey { items, problems } = self.survey(kind);
        ResolveError::gather(problems).map(|()| items)
    }

    /// Every id of `kind` that can be listed, and every problem of the others.
    pub fn survey(&self, kind: ItemKind) -> Survey {
        let holdings = self.spaces.roots().iter().map(|root| walk(root, kind)).collect();
        listing::survey(kind, holdings)
    }

    /// The configuration `name`, for example `agent/resilience`, from every space that has it.
    ///
    /// Returns `None` if no space has it.
    ///
    /// # Errors
    ///
    /// The name is not an id, or a layer is unsigned, tampered with, ambiguous, unparseable or unreadable.
    /// One such layer refuses the whole configuration, and all are reported (SPEC 4.3).
    pub fn config(&self, name: &str) -> Result<Option<Config>, ResolveError> {
        let layers = self.layers(name, rye_parse::config);
        layers.map(Config::new).map_err(ResolveError::without_text)
    }

    /// The files of the configuration `name`, nearest space first, each verified and parsed by `read`.
    pub(crate) fn layers<T>(
        &self,
        name: &str,
        read: impl Fn(&str, &str) -> Result<T, ParseError>,
    ) -> Result<Vec<Item<T>>, ResolveError> {
        let kind = ItemKind::Config;
        let id: ItemId = name.parse().map_err(|source| {
            let text = name.to_owned();
            ResolveError::InvalidId { kind, text, source }
        })?;
        let mut layers = Vec::new();
        let mut problems = Vec::new();
        for root in self.spaces.roots() {
            match self.layer(&root, &id, &read) {
                Ok(layer) => layers.extend(layer),
                Err(problem) => problems.push(problem),
            }
        }
        ResolveError::gather(problems).map(|()| layers)
    }

    pub(crate) fn search_cache(&self) -> Option<&Path> {
        self.search_cache.as_deref()
    }

    fn layer<T>(
        &self,
        root: &Root,
        id: &ItemId,
        read: impl Fn(&str, &str) -> Result<T, ParseError>,
    ) -> Result<Option<Item<T>>, ResolveError> {
        let kind = ItemKind::Config;
        let candidates = root.candidates(kind, id)?;
        let Some((_, located)) = decide(kind, id, vec![candidates])? else { return Ok(None) };
        let text = self.read(root, kind, id, located.winner)?;
        parse(text, read).map(Some)
    }

    fn find(&self, kind: ItemKind, id: &ItemId) -> Result<(Root, Located), ResolveError> {
        let mut roots = self.spaces.roots();
        let candidates: Result<Vec<_>, _> =
            roots.iter().map(|root| root.candidates(kind, id)).collect();
        match decide(kind, id, candidates?)? {
            Some((index, located)) => Ok((roots.swap_remove(index), located)),
            None => Err(self.not_found(kind, id, &roots)),
        }
    }

    fn not_found(&self, kind: ItemKind, id: &ItemId, roots: &[Root]) -> ResolveError {
        let items = self.survey(kind).items;
        let suggestion = nearest_id(kind, id, items.iter().map(|item| &item.id)).cloned();
        let looked = roots.iter().map(|root| root.location(kind.folder())).collect();
        let is_there = |kind: &ItemKind| {
            roots.iter().any(|root| root.candidates(*kind, id).is_ok_and(|found| !found.is_empty()))
        };
        let others = [ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool];
        let other = others.into_iter().filter(|it| *it != kind).find(is_there);
        ResolveError::NotFound { kind, id: id.clone(), suggestion, other, looked }
    }

    /// The verified text of the file at `location`, which `root` holds for `id`.
    pub(crate) fn read(
        &self,
        root: &Root,
        kind: ItemKind,
        id: &ItemId,
        location: Location,
    ) -> Result<Item<String>, ResolveError> {
        let content = match root.read(&location)? {
            Text::Shipped(text) => Verified::builtin(text).to_owned_text().into(),
            Text::Disk(text) => {
                let text = self.text_to_be(&location.path).unwrap_or(&text);
                self.verify(text, kind, id, &location)?
            }
        };
        Ok(Item::new(kind, id.clone(), location, content))
    }

    fn verify(
        &self,
        text: &str,
        kind: ItemKind,
        id: &ItemId,
        location: &Location,
    ) -> Result<Shown<String>, ResolveError> {
        let item = item_name(kind, id);
        let style = CommentStyle::of_extension(location.extension());
        let signable = style.is_some();
        let style = style.unwrap_or(STYLE_OF_THE_UNSIGNABLE);
        let trust = self.trust_in(location.space);
        let error = match accept(text, style, &item, trust, &self.policy, self.now) {
            Ok(verified) => return Ok(verified.to_owned_text().into()),
            Err(error) => error,
        };
        if let Some(draft) = self.draft(text, style, &item, trust) {
            return Ok(draft);
        }
        let location = location.clone();
        Err(match error {
            Error::Unsigned if !signable => ResolveError::Unsignable { location },
            error => ResolveError::Unverified { location, source: Box::new(error) },
        })
    }

    /// The draft that a text is, where drafts are shown.
    fn draft(
        &self,
        text: &str,
        style: CommentStyle,
        item: &ItemName,
        trust: &TrustStore,
    ) -> Option<Shown<String>> {
        let own = self.drafts_of.as_ref()?;
        let unverified = Unverified::locate(text, style).ok()?;
        unverified.draft(item, own, trust, self.now).map(Shown::from)
    }
}

/// The most bytes of a file with a signature, which is one line.
const SIGNATURE_BYTES: u64 = 4 * 1024;

/// The name that a signature binds an item to.
fn item_name(kind: ItemKind, id: &ItemId) -> ItemName {
    ItemName::new(kind.as_str(), id.as_str()).expect("because an item id is one line of plain text")
}

/// The comment style for file types without comments, whose files are never signed. A line that looks like a
/// signature is checked all the same.
const STYLE_OF_THE_UNSIGNABLE: CommentStyle = CommentStyle::Slash;

/// Parses a knowledge entry by its extension.
pub(crate) fn knowledge(source: &str, extension: &str) -> Result<Knowledge, ParseError> {
    match extension {
        "md" => rye_parse::knowledge(source),
        _ => rye_parse::knowledge_yaml(source),
    }
}

/// Parses the text of an item with `read`, which also takes the file's extension.
pub(crate) fn parse<T>(
    text: Item<String>,
    read: impl FnOnce(&str, &str) -> Result<T, ParseError>,
) -> Result<Item<T>, ResolveError> {
    let location = text.location.clone();
    text.try_map(|source| {
        read(&source, location.extension()).map_err(|problems| ResolveError::Unparseable {
            location: location.clone(),
            text: source,
            source: problems,
        })
    })
}
