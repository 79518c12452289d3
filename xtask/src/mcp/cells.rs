//! The checks that every official client must report, for every revision.

use std::collections::BTreeSet;

use anyhow::anyhow;

const CLIENTS: [&str; 2] = ["python", "typescript"];
const CHECKS: [&str; 7] = ["list", "call", "error", "cancel", "progress", "approve", "deny"];

/// Returns a table of the checks that the clients reported, in lines such as `cell python 2026-07-28 list`.
///
/// # Errors
///
/// A check is missing: a client that skips a check does not fail by itself.
pub(super) fn table(said: &str, revisions: &[&str]) -> anyhow::Result<String> {
    let cells: BTreeSet<&str> =
        said.lines().filter_map(|line| line.trim().strip_prefix("cell ")).collect();
    let mut table = format!("{:<24}{}\n", "", CHECKS.map(|check| format!("{check:<10}")).concat());
    let mut missing = Vec::new();
    for client in CLIENTS {
        for revision in revisions {
            let row = CHECKS.map(|check| {
                let cell = format!("{client} {revision} {check}");
                let is_there = cells.contains(cell.as_str());
                if !is_there {
                    missing.push(cell);
                }
                if is_there { "holds     " } else { "missing   " }
            });
            let name = format!("{client} {revision}");
            table += format!("{name:<24}{}", row.concat()).trim_end();
            table.push('\n');
        }
    }
    if missing.is_empty() {
        return Ok(table);
    }
    Err(anyhow!("{table}not checked: {}", missing.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_no_client_made_is_reported() {
        let all: String = CLIENTS
            .iter()
            .flat_map(|client| CHECKS.map(|check| format!("cell {client} 1 {check}\n")))
            .collect();
        let whole = table(&all, &["1"]).unwrap();
        assert_eq!((whole.lines().count(), whole.matches("holds").count()), (3, 14));
        let less = all.replace("cell python 1 error\n", "");
        let error = table(&less, &["1"]).unwrap_err().to_string();
        assert!(error.ends_with("not checked: python 1 error"), "{error}");
        assert!(table(&all, &["1", "2"]).is_err());
    }
}
