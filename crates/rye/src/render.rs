//! The exact prompt of a directive, without running it (SPEC 8.7).

use std::collections::BTreeMap;

use rye_prompt::ReturnStyle;
use rye_resolve::ItemId;
use rye_sign::Digest;
use serde_json::Value;

use crate::Rye;
use crate::session::{Placing, PrepareError, composed, leaf, opened, permissions};

/// What to render.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RenderRequest {
    /// The directive.
    pub directive: ItemId,
    /// The given inputs by name.
    pub inputs: BTreeMap<String, Value>,
    /// How outputs are asked for.
    pub returns: ReturnStyle,
}

impl RenderRequest {
    /// The prompt of a directive without inputs, in the default return style.
    #[must_use]
    pub fn new(directive: ItemId) -> Self {
        Self { directive, inputs: BTreeMap::new(), returns: ReturnStyle::default() }
    }
}

/// The texts that a thread begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The system message.
    pub system: Option<String>,
    /// The directive prompt, the middle of the first user message.
    pub prompt: String,
    /// The first user message.
    pub first_user_message: String,
    /// The SHA-256 over system message, a zero byte and first user message.
    pub digest: Digest,
}

impl Rye {
    /// Renders what a thread of this directive begins with, byte for byte as a run would send it by a provider without
    /// a system template.
    ///
    /// # Errors
    ///
    /// When an item cannot be had, the inputs do not fit, or the prompt cannot be rendered.
    pub fn render(&self, request: &RenderRequest) -> Result<Rendered, PrepareError> {
        let inputs = Placing::Values(request.inputs.clone());
        let composed = composed(&self.library, &request.directive, &inputs)?;
        let (prompt, opening) = opened(&composed, request.returns, None)?;
        let system = opening.system.as_deref().unwrap_or_default();
        let digest = Digest::of(format!("{system}\0{}", opening.first_user_message).as_bytes());
        Ok(Rendered {
            system: opening.system,
            prompt,
            first_user_message: opening.first_user_message,
            digest,
        })
    }

    /// The directive prompt with its placeholders left as written, for which no inputs are needed.
    ///
    /// # Errors
    ///
    /// When an item of the chain cannot be had.
    pub fn template(
        &self,
        directive: &ItemId,
        returns: ReturnStyle,
    ) -> Result<String, PrepareError> {
        let chain = self.library.chain(self.library.directive(directive)?)?;
        Ok(rye_prompt::template(leaf(&chain), permissions(&chain), returns))
    }
}
