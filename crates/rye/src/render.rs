//! The exact prompt of a directive, without running it (SPEC 8.7).

use std::collections::BTreeMap;

use rye_prompt::ReturnStyle;
use rye_resolve::ItemId;
use rye_sign::Digest;
use serde_json::Value;

use crate::Rye;
use crate::session::{
    Placing, PrepareError, Vouched, chain_warnings, composed, leaf, opened, permissions, warnings,
};

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
    /// What the operator should know, such as that an item is not signed by anybody.
    pub warnings: Vec<String>,
}

/// A directive prompt with its placeholders left as written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Template {
    /// The directive prompt.
    pub text: String,
    /// What the operator should know, such as that a directive is not signed by anybody.
    pub warnings: Vec<String>,
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
        let vouched: Vec<Vouched> = self.trust_config.iter().flat_map(Vouched::of_layers).collect();
        let digest = digest(opening.system.as_deref(), &opening.first_user_message);
        Ok(Rendered {
            system: opening.system,
            prompt,
            first_user_message: opening.first_user_message,
            digest,
            warnings: warnings(&composed, &vouched, self),
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
    ) -> Result<Template, PrepareError> {
        let chain = self.library.chain(self.library.directive(directive)?)?;
        let text = rye_prompt::template(leaf(&chain), permissions(&chain), returns);
        Ok(Template { text, warnings: chain_warnings(&chain) })
    }
}

/// The digest that stands for the two texts of an opening.
pub(crate) fn digest(system: Option<&str>, first_user_message: &str) -> Digest {
    let system = system.unwrap_or_default();
    Digest::of(format!("{system}\0{first_user_message}").as_bytes())
}
