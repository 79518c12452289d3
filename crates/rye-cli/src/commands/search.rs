//! `rye search QUERY…`.

use clap::Args;
use rye::primary::{Caller, Found, search};
use rye::resolve::{SearchHit, SearchQuery, SearchResults};
use rye::types::ItemKind;
use serde_json::Value;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::refused;
use crate::table::{align, title_of};

/// Find items by what they say, the best first
#[derive(Debug, Args)]
#[command(
    after_help = "A word is found as it is written, as the start of a longer one, or with a typo when it is nowhere as written.\n\
                  Put a phrase between double quotes, inside single ones for the shell; `word*` asks for the start of a word.\n\
                  Every result is verified; what is refused is not searched, and told on standard error.\n\n\
                  Examples:\n  rye search index notes\n  rye search '\"each note\"' --kind knowledge --json\n  rye search deploy --tag ops --limit 5"
)]
pub(crate) struct Arguments {
    /// The words to look for
    #[arg(required = true)]
    query: Vec<String>,
    /// Only this kind (may be given many times) [possible values: directive, knowledge, tool, config]; default: all
    /// but config
    #[arg(long)]
    kind: Vec<ItemKind>,
    /// Only items that have this tag (may be given many times; all are needed)
    #[arg(long)]
    tag: Vec<String>,
    /// The most results
    #[arg(long, value_name = "N", default_value_t = SearchQuery::DEFAULT_LIMIT)]
    limit: usize,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let query = query(arguments)?;
    let rye = environment.rye()?;
    let found = search(&rye, &query, &Caller::operator())?;
    let results = &found.results;
    if environment.json() {
        answer(&found).print();
    } else {
        print(results, &query);
        refused::warn(&results.refused, "searched");
    }
    if let Some(problem) = &results.cache_problem {
        output::warnings(&[refused::reason(problem)]);
    }
    Ok(Exit::Fine)
}

/// Returns the results as JSON, in the rows that MCP clients and threads also get.
fn answer(found: &Found) -> Answer {
    let mut value = found.to_json();
    let mut rows = |name: &str| match value[name].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    };
    let results = rows("results");
    let refused = rows("refused");
    let n_refused = refused.len();
    let answer = Answer::of("results", results).beside("refused", refused);
    answer.with("matched", found.results.n_matched).with("refused", n_refused)
}

fn query(arguments: &Arguments) -> Result<SearchQuery, Failure> {
    let query = arguments.query.join(" ").parse::<SearchQuery>();
    let query = query.map_err(|error| Failure::of(&error, Exit::Usage))?;
    let query = arguments.kind.iter().fold(query, |query, kind| query.with_kind(*kind));
    let query = arguments.tag.iter().fold(query, |query, tag| query.with_tag(tag));
    Ok(query.with_limit(arguments.limit))
}

fn print(results: &SearchResults, query: &SearchQuery) {
    let rows: Vec<[String; 5]> = results.hits.iter().map(columns).collect();
    for (hit, line) in results.hits.iter().zip(align(&rows)) {
        println!("{line}");
        let preview = &hit.item.content.value().preview;
        let line = preview.line.map(|line| format!("{line}: ")).unwrap_or_default();
        if !preview.text.is_empty() {
            println!("    {line}{}", preview.text);
        }
    }
    match (results.hits.len(), results.n_matched) {
        (_, 0) => eprintln!("nothing answers `{}`", query.text()),
        (shown, matched) if shown < matched => {
            eprintln!("{shown} of {matched}; `--limit` shows more");
        }
        _ => {}
    }
}

fn columns(hit: &SearchHit) -> [String; 5] {
    let item = &hit.item;
    let title = title_of(&item.content.value().summary, item);
    [
        item.kind.to_string(),
        item.id.to_string(),
        item.location.space.to_string(),
        format!("{:.3}", hit.score),
        title,
    ]
}
