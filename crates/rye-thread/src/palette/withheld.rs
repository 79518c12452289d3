//! Tools that exist and that a thread does not offer, so that a call of one is refused for its own reason.

use rye_caps::Invocation;

use super::Palette;
use super::name::{bare_name, name_on_server, words};

/// A tool that exists and is not offered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WithheldTool {
    /// The item id.
    pub item_id: String,
    /// The item that an authority must allow before a call, with the functions behind it.
    pub invocation: Invocation,
    /// A sentence that says why it is not offered although it is granted.
    pub reason: Option<String>,
}

impl WithheldTool {
    /// Creates a tool that is not offered.
    #[must_use]
    pub fn new(item_id: &str, invocation: Invocation, reason: Option<String>) -> Self {
        Self { item_id: item_id.to_owned(), invocation, reason }
    }
}

impl Palette {
    /// Adds the tools that are not offered. Those of the palette are left out.
    #[must_use]
    pub fn with_withheld(mut self, tools: impl IntoIterator<Item = WithheldTool>) -> Self {
        let tools: Vec<WithheldTool> = tools.into_iter().collect();
        self.withheld =
            tools.into_iter().filter(|tool| self.by_id(&tool.item_id).is_none()).collect();
        self
    }

    /// Returns the tool that this name of a call means, by its item id or by the words of its palette name. Another tool
    /// with the same words makes it ambiguous, and then none is meant.
    pub(crate) fn withheld(&self, name: &str) -> Option<&WithheldTool> {
        let bare = bare_name(name);
        let exactly = self.withheld.iter().find(|tool| tool.item_id == bare);
        exactly.or_else(|| {
            let given: Vec<Vec<&str>> =
                [Some(bare), name_on_server(bare)].into_iter().flatten().map(words).collect();
            let is_meant = |tool: &&WithheldTool| given.contains(&words(&tool.item_id));
            let mut meant = self.withheld.iter().filter(is_meant);
            meant.next().filter(|_| meant.next().is_none())
        })
    }
}
