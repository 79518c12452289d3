//! Three spaces in a temporary folder, with an operator whose key the user space trusts.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use rye_resolve::{ItemId, Library, ShippedFile, Spaces, trust_store};
use rye_sign::{
    CommentStyle, ItemName, Policy, RevocationList, RevokedKey, SigningKey, TrustDocument, sign,
};
use rye_types::Timestamp;
use tempfile::TempDir;

pub(crate) struct World {
    folder: TempDir,
    pub(crate) operator: SigningKey,
    pub(crate) stranger: SigningKey,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
            operator: SigningKey::generate().unwrap(),
            stranger: SigningKey::generate().unwrap(),
        };
        for space in ["project", "user", "system"] {
            fs::create_dir_all(world.path(space).join(".ai")).unwrap();
        }
        world.write("user", &trust_path(&world.operator), &document("operator", &world.operator));
        world
    }

    /// The real path of the folder that holds the `.ai` folder of `space`.
    pub(crate) fn path(&self, space: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(space)
    }

    /// Writes `text` unchanged to `file`, a path below `.ai`.
    pub(crate) fn write(&self, space: &str, file: &str, text: &str) {
        let path = self.path(space).join(".ai").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes `text` to `file`, signed by the operator under the name that its path gives it.
    pub(crate) fn signed(&self, space: &str, file: &str, text: &str) {
        self.signed_by(&self.operator, space, file, text);
    }

    pub(crate) fn signed_by(&self, key: &SigningKey, space: &str, file: &str, text: &str) {
        self.write(space, file, &signed_text(key, file, text));
    }

    pub(crate) fn directive(&self, space: &str, id: &str, inner: &str) {
        self.signed(space, &format!("directives/{id}.md"), &directive(id, "", inner));
    }

    pub(crate) fn spaces(&self) -> Spaces {
        Spaces::new()
            .with_project(self.path("project"))
            .with_user(self.path("user"))
            .with_system(self.path("system"))
            .with_shipped(SHIPPED)
    }

    pub(crate) fn library(&self) -> Library {
        self.library_with(Policy::default())
    }

    pub(crate) fn library_with(&self, policy: Policy) -> Library {
        let (trust, _) = trust_store(&self.spaces(), &[], now()).unwrap();
        Library::new(self.spaces(), trust, policy, now())
    }

    /// The error and its causes, one per line, with placeholders for the temporary folder and the keys.
    pub(crate) fn error_text(&self, error: &dyn Error) -> String {
        let mut lines = vec![error.to_string()];
        let mut cause = error.source();
        while let Some(error) = cause {
            lines.push(error.to_string());
            cause = error.source();
        }
        self.with_placeholders(&lines.join("\n"))
    }

    /// `text` with placeholders for all that differs from run to run.
    pub(crate) fn with_placeholders(&self, text: &str) -> String {
        let folder = self.folder.path().canonicalize().unwrap();
        let folder = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
        text.replace(&folder, "")
            .replace(&key_id(&self.operator), "OPERATOR")
            .replace(&key_id(&self.stranger), "STRANGER")
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_unix(1_800_000_000)
}

pub(crate) fn id(text: &str) -> ItemId {
    text.parse().unwrap()
}

pub(crate) fn key_id(key: &SigningKey) -> String {
    key.public().key_id().to_string()
}

/// The path below `.ai` of the document that trusts `key`.
pub(crate) fn trust_path(key: &SigningKey) -> String {
    format!("config/keys/trusted/{}.toml", key_id(key))
}

/// The revocation list of a space, below `.ai`.
pub(crate) const LIST: &str = "config/keys/revoked.toml";

/// An unsigned list that revokes `keys`.
pub(crate) fn list<'k>(keys: impl IntoIterator<Item = &'k SigningKey>) -> String {
    let entry = |key: &SigningKey| RevokedKey::new(key.public().key_id().clone(), now(), "left");
    let list = keys.into_iter().map(entry).fold(RevocationList::default(), RevocationList::with);
    list.to_toml()
}

/// An unsigned document that says that `key` is `owner`'s.
pub(crate) fn document(owner: &str, key: &SigningKey) -> String {
    TrustDocument::new(owner, key.public()).to_toml()
}

/// A directive named `name`, with attributes of its own and children of its metadata.
pub(crate) fn directive(name: &str, attributes: &str, inner: &str) -> String {
    format!(
        "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\"{attributes}>\n  <metadata>\n    \
         <description>Does it.</description>\n    {inner}\n  </metadata>\n</directive>\n```\n\nDo it.\n"
    )
}

/// `text` signed by `key` under the name that `file`, a path below `.ai`, gives it.
pub(crate) fn signed_text(key: &SigningKey, file: &str, text: &str) -> String {
    let path = Path::new(file);
    let style = CommentStyle::of_extension(path.extension().unwrap().to_str().unwrap()).unwrap();
    sign(text, style, &item_name(file), key, now())
}

fn item_name(file: &str) -> ItemName {
    let (stem, _) = file.rsplit_once('.').unwrap();
    if let Some(key) = stem.strip_prefix("config/keys/trusted/") {
        return ItemName::new("trust", key).unwrap();
    }
    if file == LIST {
        return RevocationList::item_name();
    }
    let (folder, id) = stem.split_once('/').unwrap();
    let kinds = rye_types::ItemKind::ALL;
    let kind = kinds.iter().find(|kind| kind.folder() == folder).unwrap();
    ItemName::new(kind.as_str(), id).unwrap()
}

static SHIPPED: &[ShippedFile] = &[
    ShippedFile {
        path: "knowledge/rye/identity.md",
        text: "```yaml\nname: identity\n```\n\nShipped.\n",
    },
    ShippedFile {
        path: "config/agent/resilience.yaml",
        text: "limits:\n  turns: 10\n  depth: 5\n",
    },
    ShippedFile { path: "README.md", text: "Not an item.\n" },
];
