//! The execution of directives and knowledge: the options beside the item, and parameters that knowledge does not take (SPEC D16).

use rye_parse::{Action, Spanned, did_you_mean, nearest_name};
use rye_thread::{THREAD_DIRECTIVE, execution_problems};
use serde_json::{Map, Value};

use super::{Calls, Filling};
use crate::check::Finding;

/// The options of `rye_execute` that a step passes on for a directive or knowledge.
pub(super) const OPTIONS: &[&str] = &["async", "thread"];

/// The words for the thread that a directive runs in.
const THREADS: [&str; 2] = ["inline", "fork"];

impl Calls<'_> {
    /// The options of a step that executes a directive or knowledge, judged as the call itself would be. What a hook executes has
    /// none.
    pub(super) fn of_options(&self, action: &Spanned<Action>) -> Vec<Finding> {
        let called = &action.value;
        let options = called.options.iter().filter(|(name, _)| OPTIONS.contains(&name.as_str()));
        let given: Map<String, Value> =
            options.map(|(name, value)| (name.clone(), value.clone())).collect();
        if self.filling == Filling::Event || given.get("thread").is_some_and(|it| self.is_open(it))
        {
            return Vec::new();
        }
        let thread = given.get("thread").and_then(Value::as_str).unwrap_or(THREADS[0]);
        let mut problems = execution_problems(&arguments(called, &given));
        problems.extend(self.unfit_async(&given).filter(|_| problems.is_empty()));
        let finding = |problem: String| {
            // Each problem begins with the option that it is about.
            let name = problem.split('`').nth(1).map(str::to_owned);
            let near = nearest_name(thread, THREADS).filter(|near| *near != thread);
            let near = near.filter(|_| name.as_deref() == Some("thread"));
            let message = format!("{}: {problem}{}", self.by, did_you_mean(near));
            let place = self.place(action, name.as_deref());
            Finding::error("unfit-option", &message, place).with_label("would be refused")
        };
        problems.into_iter().map(finding).collect()
    }

    /// The problem of `async`, whose value the tool that starts threads describes.
    fn unfit_async(&self, given: &Map<String, Value>) -> Option<String> {
        let value = given.get("async").filter(|value| !self.is_open(value))?;
        let tool = THREAD_DIRECTIVE.parse().ok()?;
        let (schema, compiled) = self.catalog.input_schema(&tool)?;
        let given = Map::from_iter([("async".to_owned(), value.clone())]);
        let mut misfits = self.misfits(schema, compiled, given).into_iter();
        let is_unfit = misfits.any(|misfit| misfit.given_name() == Some("async"));
        is_unfit.then(|| "`async` must be `true` or `false`".to_owned())
    }

    /// Parameters of a call that executes knowledge, which takes none.
    pub(super) fn of_knowledge(&self, action: &Spanned<Action>) -> Option<Finding> {
        let name = action.value.parameters.keys().next()?;
        let place = self.place(action, Some(name));
        Some(
            match self.filling {
                Filling::Inputs => {
                    let message = format!(
                        "{}: knowledge takes no parameters, so that the call is refused",
                        self.by
                    );
                    Finding::error("unknown-parameter", &message, place)
                        .with_label("would be refused")
                }
                Filling::Event => {
                    let message = format!(
                        "{}: knowledge takes no parameters, so that they are passed over",
                        self.by
                    );
                    Finding::warning("unknown-parameter", &message, place).with_label("passed over")
                }
            }
            .with_help("leave the parameters out"),
        )
    }
}

/// The arguments of `rye_execute` that a step makes of its call, with the options that it passes on.
fn arguments(called: &Action, options: &Map<String, Value>) -> Value {
    let named = [("item_type", &called.item_type), ("item_id", &called.item_id)];
    let named = named
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into())));
    let all: Map<String, Value> = named.chain(options.clone()).collect();
    all.into()
}
