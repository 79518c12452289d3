use std::time::Duration;

use rye_transcript::ThreadId;
use rye_types::{Moment, Usage};

use super::*;

fn id(number: usize) -> ThreadId {
    format!("index-019a0000-0000-7000-8000-{number:012}").parse().unwrap()
}

/// The row of a thread that began in hour `number`.
fn row(number: usize, directive: &str, model: &str) -> Listed {
    let created = Moment::from_unix_millis(1_795_197_600_000 + 3_600_000 * number as i64);
    let mut row = Listed::new(id(number), directive, "completed", created);
    row.model = Some(model.to_owned());
    row
}

/// Three threads, the newest first; the last two are of one directive.
fn rows() -> Vec<Listed> {
    let mut rows = [row(3, "b/two", "large"), row(2, "a/one", "small"), row(1, "a/one", "large")];
    for (row, turns) in rows.iter_mut().zip([5, 9, 7]) {
        row.turns = turns;
        row.usage = Usage::new(100 * turns, 1_000_000 / turns);
        row.usage.cache_read = 20;
        row.cost = Nanos::new(1_000_000_000 * turns);
        row.duration = Duration::from_secs(10 * turns);
    }
    rows.into()
}

fn page(all: &[Listed], query: &str) -> String {
    threads(all, &Filter::read(query), "p")
}

/// The threads on a page, by their numbers.
fn shown(page: &str) -> Vec<usize> {
    let links = page.split("<td class=\"d\"><a href=\"../thread/").skip(1);
    links.map(|rest| rest.split('"').next().unwrap()[30..].parse().unwrap()).collect()
}

#[test]
fn a_row_has_all_figures() {
    let page = page(&rows(), "");
    for cell in [
        "<td class=\"t2 o\">large</td>",
        "<td class=\"n o\">5</td>",
        "<td class=\"n o\">520</td>",
        "<td class=\"n o\">200,000</td>",
        "<td class=\"n\">5.0000</td>",
        "<td class=\"n t\">50.0 s</td>",
        "5 turns · 200,520 tokens",
    ] {
        assert!(page.contains(cell), "{cell} is not in {page}");
    }
}

#[test]
fn rows_are_sorted_by_the_address() {
    for (sort, expected) in [
        ("", [3, 2, 1]),
        ("-started", [1, 2, 3]),
        ("turns", [2, 1, 3]),
        ("-turns", [3, 1, 2]),
        ("tokens-in", [2, 1, 3]),
        ("tokens-out", [3, 1, 2]),
        ("usd", [2, 1, 3]),
        ("-time", [3, 1, 2]),
        ("directive", [2, 1, 3]),
        ("model", [3, 1, 2]),
        ("-model", [2, 3, 1]),
        ("state", [3, 2, 1]),
        ("other", [3, 2, 1]),
    ] {
        assert_eq!(shown(&page(&rows(), &format!("sort={sort}"))), expected, "{sort}");
    }
    let page = page(&rows(), "sort=turns&q=one&plot=tokens");
    assert!(
        page.contains(
            "aria-sort=\"descending\"><a href=\"?q=one&amp;sort=-turns&amp;plot=tokens\">Turns"
        ),
        "{page}"
    );
    assert!(page.contains("<input type=\"hidden\" name=\"sort\" value=\"turns\">"), "{page}");
}

#[test]
fn a_sorted_list_is_paged() {
    let all: Vec<Listed> = (0..120)
        .rev()
        .map(|number| {
            let mut row = row(number, "a/one", "m");
            row.turns = number as u64;
            row
        })
        .collect();
    let mut query = "sort=-turns".to_owned();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let page = page(&all, &query);
        seen.extend(shown(&page));
        query = Filter::read("sort=-turns").older_than(&id(*seen.last().unwrap()));
        query.remove(0);
        let link = format!("href=\"?{}\"", query.replace('&', "&amp;"));
        assert_eq!(page.contains(&link), seen.len() < 120, "{link}");
    }
    assert_eq!(seen, (0..120).collect::<Vec<_>>());
}

#[test]
fn rows_are_filtered_by_their_model() {
    let all = rows();
    assert_eq!(shown(&page(&all, "model=large")), [3, 1]);
    assert_eq!(shown(&page(&all, "model=other")), [0; 0]);
    assert!(page(&all, "model=large").contains("<option value=\"large\" selected>"));
    assert!(!page(&all[..1], "").contains("Any model"));
}

#[test]
fn a_row_leads_to_the_comparison_with_the_preceding_thread_of_its_directive() {
    let page = page(&rows(), "");
    let link = format!("../compare/?a={}&amp;b={}", id(1), id(2));
    assert!(page.contains(&link), "{page}");
    assert_eq!(page.matches("../compare/?").count(), 1);
}

#[test]
fn the_plot_shows_money_or_tokens() {
    let mut all = rows();
    all[0].parent = Some(id(1));
    let spend = page(&all, "");
    // The cost of a child is part of its parent's.
    assert!(spend.contains("Spend per day over 30 days, at most $16.0000"), "{spend}");
    assert!(spend.contains(">$10.00</text>"), "{spend}");
    assert!(spend.contains("<a href=\"?plot=tokens\">Tokens</a>"), "{spend}");
    let tokens = page(&all, "plot=tokens");
    assert!(tokens.contains("Tokens per day over 30 days, at most 456,128 tokens"), "{tokens}");
    assert!(tokens.contains(">400 k</text>"), "{tokens}");
    assert!(tokens.contains("<a href=\"?\">Spend</a>"), "{tokens}");
    assert!(tokens.contains("<td class=\"n\">255 k</td>"), "{tokens}");
}

/// The cost of a thread holds that of its children; the sum of a directive counts each once.
#[test]
fn a_directive_that_starts_itself_counts_its_money_once() {
    let mut rows = [row(2, "a/one", "m"), row(1, "a/one", "m")];
    rows[0].parent = Some(id(1));
    rows[0].cost = Nanos::new(2_000_000_000);
    rows[1].cost = Nanos::new(3_000_000_000);
    let page = page(&rows, "");
    let (_, table) = page.split_once("Per directive</th>").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    assert!(table.contains("3.0000") && !table.contains("5.0000"), "{table}");
}
