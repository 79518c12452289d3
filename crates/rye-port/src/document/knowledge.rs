//! The text of a knowledge entry (SPEC 4.1).

use rye_resolve::ItemId;

use super::{one_line, quoted, scalar};

/// The parts of a knowledge entry that a source has.
#[derive(Debug)]
pub(crate) struct KnowledgeDocument {
    pub(crate) id: ItemId,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) entry_type: &'static str,
    pub(crate) author: String,
    pub(crate) tags: Vec<String>,
    pub(crate) body: String,
}

impl KnowledgeDocument {
    /// The file, unsigned, with a blank line at its start.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("\n```yaml\nname: {}\n", scalar(self.id.name()));
        text += &format!("title: {}\n", scalar(&one_line(&self.title)));
        if !self.description.is_empty() {
            text += &format!("description: {}\n", scalar(&one_line(&self.description)));
        }
        text += &format!("entry_type: {}\n", self.entry_type);
        if let Some(folder) = self.id.folder() {
            text += &format!("category: {}\n", scalar(folder));
        }
        text += "version: \"0.1.0\"\n";
        text += &format!("author: {}\n", scalar(&one_line(&self.author)));
        let tags: Vec<String> = self.tags.iter().map(|tag| quoted(&one_line(tag))).collect();
        text += &format!("tags: [{}]\n```\n\n", tags.join(", "));
        text += self.body.trim();
        text.push('\n');
        text
    }
}
