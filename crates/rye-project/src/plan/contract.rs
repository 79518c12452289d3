//! The outputs that a directive promises, in the form that the thread checks.

use rye_parse::Outputs;
use rye_resolve::ExtendsChain;
use rye_thread::{OutputContract, OutputField};

use super::error::PrepareError;

/// The outputs that the leaf declares; those of the dictionary form have no type and may be left out (SPEC 3.4).
pub(crate) fn contract(chain: &ExtendsChain) -> Result<OutputContract, PrepareError> {
    let leaf = chain.leaf();
    let fields = match &leaf.content.value().outputs {
        Outputs::List(outputs) => outputs.iter().map(|output| list_field(&output.value)).collect(),
        Outputs::Dict(outputs) => outputs.iter().map(|output| dict_field(&output.value)).collect(),
        Outputs::None => Vec::new(),
    };
    OutputContract::new(fields)
        .map_err(|source| PrepareError::Contract { id: leaf.id.clone(), source })
}

fn list_field(output: &rye_parse::Output) -> OutputField {
    let field = match output.required {
        true => OutputField::required(&output.name.value, output.value_type),
        false => OutputField::optional(&output.name.value, output.value_type),
    };
    field.with_description(&output.description)
}

fn dict_field(output: &rye_parse::DictOutput) -> OutputField {
    OutputField::optional(&output.name, None).with_description(&output.text)
}
