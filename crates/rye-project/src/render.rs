//! The exact prompt of a directive, without running it (SPEC 8.7).

use std::collections::BTreeMap;

use rye_prompt::Opening;
use rye_resolve::{Item, ItemId};
use rye_sign::Digest;
use rye_types::ReturnStyle;
use serde_json::Value;

use crate::causes::with_causes;
use crate::config::HOOKS_FILE;
use crate::opening_digest::opening_digest;
use crate::plan::{
    Answerer, Composed, ItemProvenance, Placing, PlanRequest, PrepareError, answerer, chain_drafts,
    chain_warnings, compose_prompt, is_unvouched, leaf, permissions, render_opening,
};
use crate::project::Project;

/// A request to render a directive.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RenderRequest {
    /// The directive.
    pub directive: ItemId,
    /// The given inputs by name.
    pub inputs: BTreeMap<String, Value>,
    /// The style in which a thread asks for outputs; `None` is the provider's style.
    pub returns: Option<ReturnStyle>,
}

impl RenderRequest {
    /// The prompt of a directive without inputs, with the outputs asked for in the provider's way.
    #[must_use]
    pub fn new(directive: ItemId) -> Self {
        Self { directive, inputs: BTreeMap::new(), returns: None }
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
    /// `true` if an item of them, or one that the run reads beside them, is a draft of the operator's, or unsigned.
    pub draft: bool,
    /// Warnings for the operator. One says that no key signed an item, another that hooks keep the directive
    /// from running and are no part of these texts.
    pub warnings: Vec<String>,
}

/// A directive prompt with its placeholders left as written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Template {
    /// The directive prompt.
    pub text: String,
    /// `true` if a directive of the chain is a draft of the operator's, or unsigned.
    pub draft: bool,
    /// Warnings for the operator, such as that no key signed a directive.
    pub warnings: Vec<String>,
}

impl Project {
    /// Renders the opening of a thread of this directive, byte for byte as a run sends it by the directive's
    /// provider. If that provider cannot be had, a warning says so, and the texts are those for one without a
    /// system template.
    ///
    /// # Errors
    ///
    /// The method fails if an item cannot be had, if the inputs do not fit, or if the prompt cannot be
    /// rendered.
    pub fn render(&self, request: &RenderRequest) -> Result<Rendered, PrepareError> {
        let mut wish = PlanRequest::new(request.directive.clone());
        wish.inputs = Placing::Values(request.inputs.clone());
        wish.returns = request.returns;
        let Texts { composed, prompt, opening, provider } = self.texts(&wish)?;
        let mut vouched: Vec<ItemProvenance> =
            provider.iter().flatten().map(ItemProvenance::of).collect();
        let hooks = self.library.config(HOOKS_FILE)?;
        vouched.extend(hooks.iter().chain(&self.trust_config).flat_map(ItemProvenance::of_layers));
        let mut notices: Vec<String> =
            provider.err().map(|error| without_provider(&error)).into_iter().collect();
        notices.extend(composed.item_warnings(&vouched, self));
        let further = self.further_drafts(&wish, &notices);
        let is_draft = !composed.weaknesses_of(&is_unvouched).is_empty()
            || vouched.iter().any(|item| is_unvouched(&item.provenance))
            || !further.is_empty();
        notices.extend(further);
        Ok(Rendered {
            draft: is_draft,
            digest: opening_digest(opening.system.as_deref(), &opening.first_user_message),
            system: opening.system,
            prompt,
            first_user_message: opening.first_user_message,
            warnings: notices,
        })
    }

    /// Returns a sentence for each draft that a run would read beside what it renders, such as a tool, and that is not `told` yet.
    /// They are not known where the run cannot be planned.
    fn further_drafts(&self, wish: &PlanRequest, told: &[String]) -> Vec<String> {
        if !self.library.shows_drafts() {
            return Vec::new();
        }
        let Ok(plan) = self.plan(wish) else { return Vec::new() };
        let answerer = plan.answerer(self, wish).ok();
        let drafts = plan.drafts(answerer.as_ref()).into_iter();
        drafts.filter(|draft| !told.contains(draft)).collect()
    }

    /// Returns the opening of a thread, and the provider that decided on a part of it, or the reason why
    /// there is none.
    pub(crate) fn texts(&self, wish: &PlanRequest) -> Result<Texts, PrepareError> {
        let composed = compose_prompt(&self.library, &wish.directive, &wish.inputs)?;
        self.refuse_widening(&composed.chain)?;
        let answerer = answerer(&self.library, &composed, wish);
        if let Ok(answerer) = &answerer
            && answerer.system_template().is_some()
        {
            // A template may name the tools, which only the whole plan has.
            let plan = self.plan(wish)?;
            let (prompt, opening) = plan.prompt_and_opening(Some(answerer), wish)?;
            let provider = Ok(answerer.item().cloned());
            return Ok(Texts { composed: plan.composed, prompt, opening, provider });
        }
        let style = answerer.as_ref().ok().and_then(Answerer::returns);
        let style = wish.returns.or(style).unwrap_or_default();
        let (prompt, opening) = render_opening(&composed, style, None)?;
        let provider = answerer.map(|answerer| answerer.item().cloned());
        Ok(Texts { composed, prompt, opening, provider })
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
        self.refuse_widening(&chain)?;
        let text = rye_prompt::template(leaf(&chain), permissions(&chain), returns);
        let mut warnings = chain_warnings(&chain);
        let further = self.further_drafts(&PlanRequest::new(directive.clone()), &warnings);
        let draft = !chain_drafts(&chain).is_empty() || !further.is_empty();
        warnings.extend(further);
        Ok(Template { text, draft, warnings })
    }
}

/// The texts that a thread begins with, and what they were made of.
pub(crate) struct Texts {
    composed: Composed,
    prompt: String,
    pub(crate) opening: Opening,
    /// The provider's file, if it has one.
    pub(crate) provider: Result<Option<Item<String>>, PrepareError>,
}

fn without_provider(error: &PrepareError) -> String {
    let reason = with_causes(error);
    format!(
        "rendered as for a provider without a system template, because nobody can answer: {reason}"
    )
}
