//! The results of the rows as a table.

use super::row::Judged;

/// Writes a line for each row, and a line for each of its faults.
pub(super) fn of(judged: &[Judged]) -> String {
    let mut table = format!(
        "{:<20} {:<9} {:<6} {:<10} {:>5} {:>6} {:>7} {:>8} {:>10} {:>7}\n",
        "protocol",
        "delivery",
        "task",
        "state",
        "calls",
        "read",
        "cached",
        "written",
        "nanos",
        "ms"
    );
    for row in judged {
        let delivery = if row.is_streamed { "streamed" } else { "whole" };
        let [read, written] = row.usage;
        table += &format!(
            "{:<20} {delivery:<9} {:<6} {:<10} {:>5} {read:>6} {:>7} {written:>8} {:>10} {:>7}\n",
            row.protocol.config_word(),
            row.task.name(),
            row.state,
            row.calls,
            row.cached,
            row.cost,
            row.milliseconds,
        );
        row.faults.iter().for_each(|fault| table += &format!("    WRONG: {fault}\n"));
    }
    table
}
