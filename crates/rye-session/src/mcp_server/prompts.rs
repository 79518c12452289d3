//! Directives as prompts.

use std::collections::BTreeMap;

use rmcp::model::{
    GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use rye_caps::Primary;
use rye_project::RenderRequest;
use rye_project::primary::PrimaryError;
use rye_resolve::{Item, ItemId};
use rye_types::{ItemKind, ReturnStyle};
use serde_json::Value;

use super::error::RequestError;
use super::followed::{self, may_follow};
use super::host::ServerHost;

/// One page of the directives that the client may follow. One that is refused or broken is no prompt.
pub(super) fn page(
    host: &ServerHost,
    after: Option<&str>,
) -> Result<ListPromptsResult, RequestError> {
    let page = followed::page(&*host.rye()?, &host.caller(), after, |item| Some(prompt(item)));
    let mut result = ListPromptsResult::with_all_items(page.items);
    result.next_cursor = page.next;
    Ok(result)
}

/// The messages that a thread of the directive would begin with, with the outputs asked for as text: there is no call to
/// return them with.
pub(super) fn fill(
    host: &ServerHost,
    name: &str,
    arguments: BTreeMap<String, Value>,
) -> Result<GetPromptResult, RequestError> {
    let id: ItemId = name.parse().map_err(|error| RequestError::usage(format!("{error}")))?;
    let rye = host.rye()?;
    let caller = host.caller();
    if !may_follow(&caller, &id) {
        caller.permit(Primary::Load, ItemKind::Directive, &id)?;
    }
    let mut request = RenderRequest::new(id.clone());
    request.inputs = arguments;
    request.returns = Some(ReturnStyle::Block);
    let rendered = rye.render(&request).map_err(PrimaryError::from)?;
    let texts = rendered.system.into_iter().chain([rendered.first_user_message]);
    let messages = texts.map(|text| PromptMessage::new_text(Role::User, text)).collect();
    let result = GetPromptResult::new(messages);
    let directive = rye.library().directive(&id).map_err(PrimaryError::from)?;
    Ok(match &directive.content.value().description {
        Some(description) => result.with_description(description.value.as_str()),
        None => result,
    })
}

fn prompt(item: &Item<rye_parse::Directive>) -> Prompt {
    let directive = item.content.value();
    let text = |part: &Option<rye_parse::Spanned<String>>| part.as_ref().map(|it| it.value.clone());
    let arguments = directive.inputs.iter().map(|input| {
        let argument = PromptArgument::new(&*input.value.name.value);
        let argument = match input.value.description.as_str() {
            "" => argument,
            description => argument.with_description(description),
        };
        argument.with_required(input.value.required && input.value.default.is_none())
    });
    let prompt = Prompt::new(
        item.id.as_str(),
        text(&directive.description),
        Some(arguments.collect::<Vec<_>>()).filter(|arguments| !arguments.is_empty()),
    );
    match text(&directive.title) {
        Some(title) => prompt.with_title(title),
        None => prompt,
    }
}
