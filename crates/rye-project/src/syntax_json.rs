//! A parsed directive as JSON, written out by hand: what is printed is a promise, and the inner types may change.

use rye_parse::{
    Action, Condition, ContextContent, ContextEntry, Cost, Directive, Hook, Input, Limits, Model,
    Outputs, PermissionEntry, Permissions, Spanned, Step,
};
use rye_types::Nanos;
use serde_json::{Value, json};

/// Returns the content of a directive's file as JSON. Every part is present; an absent part is
/// `null` or empty. A `span` gives the bytes of a part in the file, and amounts of money are
/// decimal text in the currency's unit.
pub(crate) fn ast(directive: &Directive) -> Value {
    json!({
        "name": directive.name.value,
        "title": text(directive.title.as_ref()),
        "version": text(directive.version.as_ref()),
        "extends": text(directive.extends.as_ref()),
        "description": text(directive.description.as_ref()),
        "category": text(directive.category.as_ref()),
        "author": text(directive.author.as_ref()),
        "model": directive.model.as_ref().map(|model| with_span(model, self::model)),
        "limits": limits(&directive.limits),
        "permissions": directive.permissions.as_ref().map(|block| with_span(block, permissions)),
        "context": list(&directive.context, context),
        "hooks": list(&directive.hooks, hook),
        "cost": directive.cost.as_ref().map(|cost| with_span(cost, self::cost)),
        "continuation_directive": text(directive.continuation_directive.as_ref()),
        "inputs": list(&directive.inputs, input),
        "outputs": outputs(&directive.outputs),
        "body": with_span(&directive.body, |body| json!({ "text": body })),
        "steps": list(&directive.steps, step),
    })
}

/// The object that `of` makes of a part, and the bytes that the part stands in.
fn with_span<T>(part: &Spanned<T>, of: impl Fn(&T) -> Value) -> Value {
    let mut object = of(&part.value);
    object["span"] = json!([part.span.start, part.span.end]);
    object
}

fn list<T>(parts: &[Spanned<T>], of: impl Fn(&T) -> Value) -> Value {
    parts.iter().map(|part| with_span(part, &of)).collect()
}

fn text(part: Option<&Spanned<String>>) -> Option<&str> {
    part.map(|part| part.value.as_str())
}

fn model(model: &Model) -> Value {
    json!({
        "tier": text(model.tier.as_ref()),
        "id": text(model.id.as_ref()),
        "fallback": text(model.fallback.as_ref()),
        "provider": text(model.provider.as_ref()),
    })
}

fn limits(limits: &Limits) -> Value {
    let number = |limit: &Option<Spanned<u64>>| limit.as_ref().map(|limit| limit.value);
    json!({
        "turns": number(&limits.turns),
        "tokens": number(&limits.tokens),
        "spend": limits.spend.as_ref().map(|spend| spend.value.to_string().trim_end_matches(" USD").to_owned()),
        "duration_seconds": number(&limits.duration_seconds),
        "spawns": number(&limits.spawns),
        "depth": number(&limits.depth),
        "spend_currency": text(limits.spend_currency.as_ref()),
    })
}

fn permissions(permissions: &Permissions) -> Value {
    let acknowledged = list(
        &permissions.acknowledged,
        |acknowledge| json!({ "risk": acknowledge.risk, "reason": acknowledge.reason }),
    );
    json!({
        "raw": permissions.raw,
        "entries": list(&permissions.entries, permission),
        "acknowledged": acknowledged,
    })
}

fn permission(entry: &PermissionEntry) -> Value {
    match entry {
        PermissionEntry::Everything => json!({ "form": "everything" }),
        PermissionEntry::Primary { primary } => json!({ "form": "primary", "primary": primary }),
        PermissionEntry::Item { primary, kind, pattern } => {
            json!({ "form": "item", "primary": primary, "kind": kind, "pattern": pattern })
        }
        PermissionEntry::Literal { pattern } => json!({ "form": "literal", "pattern": pattern }),
    }
}

fn context(entry: &ContextEntry) -> Value {
    let mut object = json!({ "position": entry.position.as_str(), "optional": entry.optional });
    match &entry.content {
        ContextContent::Inline(text) => object["text"] = text.as_str().into(),
        ContextContent::Knowledge(id) => object["knowledge"] = id.as_str().into(),
        ContextContent::File(path) => object["file"] = path.as_str().into(),
    }
    object
}

fn hook(hook: &Hook) -> Value {
    json!({
        "id": hook.id.value,
        "event": hook.event.value.as_str(),
        "condition": hook.condition.as_ref().map(|condition| with_span(condition, self::condition)),
        "effect": hook.effect.as_ref().map(|effect| effect.value.as_str()),
        "actions": list(&hook.actions, action),
    })
}

/// Returns the content of a directive as JSON without the places of its parts.
pub(crate) fn directive_meaning(directive: &Directive) -> Value {
    let mut meaning = ast(directive);
    remove_spans(&mut meaning);
    meaning
}

/// Returns the content of a hook as JSON without the places of its parts.
#[must_use]
pub fn hook_meaning(hook: &Hook) -> Value {
    let mut meaning = self::hook(hook);
    remove_spans(&mut meaning);
    meaning
}

fn remove_spans(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("span");
            members.values_mut().for_each(remove_spans);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_spans),
        _ => {}
    }
}

fn condition(condition: &Condition) -> Value {
    match condition {
        Condition::Compare { path, operator, value, .. } => {
            json!({ "path": path, "op": operator.as_str(), "value": value })
        }
        Condition::Any(inner) => json!({ "any": list(inner, self::condition) }),
        Condition::All(inner) => json!({ "all": list(inner, self::condition) }),
        Condition::Not(inner) => json!({ "not": with_span(inner, self::condition) }),
        // What a later version of the parser may add is not passed over.
        other => json!({ "unknown": format!("{other:?}") }),
    }
}

fn cost(cost: &Cost) -> Value {
    let context = cost.context.as_ref().map(|context| &context.value);
    json!({
        "context": context.map(|context| json!({
            "tokens": context.tokens,
            "estimated_usage": context.estimated_usage,
            "turns": context.turns,
            "spawn_threshold": context.spawn_threshold,
        })),
        "duration": cost.duration.as_ref().map(|duration| duration.value),
        "spend": cost.spend.as_ref().map(|spend| {
            Nanos::new(spend.value).to_string().trim_end_matches(" USD").to_owned()
        }),
        "currency": text(cost.currency.as_ref()),
    })
}

fn input(input: &Input) -> Value {
    json!({
        "name": input.name.value,
        "type": input.value_type.as_str(),
        "required": input.required,
        "default": text(input.default.as_ref()),
        "choices": input.choices,
        "description": input.description,
    })
}

fn outputs(outputs: &Outputs) -> Value {
    let (form, rows) = match outputs {
        Outputs::None => return json!({ "form": "none", "outputs": [] }),
        Outputs::List(outputs) => {
            let row = |output: &rye_parse::Output| {
                json!({
                    "name": output.name.value,
                    "type": output.value_type.as_str(),
                    "required": output.required,
                    "description": output.description,
                })
            };
            ("list", list(outputs, row))
        }
        Outputs::Dict(outputs) => {
            let row = |output: &rye_parse::DictOutput| json!({ "name": output.name, "text": output.text });
            ("dict", list(outputs, row))
        }
    };
    json!({ "form": form, "outputs": rows })
}

fn step(step: &Step) -> Value {
    json!({
        "name": step.name,
        "description": step.description,
        "actions": list(&step.actions, action),
    })
}

fn action(action: &Action) -> Value {
    json!({
        "primary": action.primary.as_str(),
        "item_type": action.item_type,
        "item_id": action.item_id,
        "query": action.query,
        "scope": action.scope,
        "parameters": action.parameters,
        "options": action.options,
    })
}
