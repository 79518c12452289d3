//! The checks that every official client must report.

use std::collections::BTreeSet;

use anyhow::anyhow;

/// The clients, the revisions that each speaks, and the checks that it reports for each of them.
pub(super) const CLIENTS: [(&str, &[&str], &[&str]); 5] = [
    ("python", &["2025-11-25", "2026-07-28"], &NEWEST),
    ("typescript", &["2025-11-25", "2026-07-28"], &NEWEST),
    ("python-1.12", &["2025-06-18"], &OLDER),
    ("python-1.23", &["2025-11-25"], &OLDER),
    ("typescript-1.17", &["2025-06-18"], &OLDER),
];

const NEWEST: [&str; 7] = ["list", "call", "error", "cancel", "progress", "approve", "deny"];
/// `quiet` says that the client complained of nothing that it received.
const OLDER: [&str; 5] = ["list", "call", "error", "progress", "quiet"];

/// Returns a table of the checks that the clients reported, in lines such as `cell python 2026-07-28 list`.
///
/// # Errors
///
/// A check is missing: a client that skips a check does not fail by itself.
pub(super) fn table(said: &str) -> anyhow::Result<String> {
    let cells: BTreeSet<&str> =
        said.lines().filter_map(|line| line.trim().strip_prefix("cell ")).collect();
    let mut table = String::new();
    let mut missing = Vec::new();
    for (client, revisions, checks) in CLIENTS {
        for revision in revisions {
            let name = format!("{client} {revision}");
            let is_there = |check: &&str| cells.contains(format!("{name} {check}").as_str());
            let (there, absent): (Vec<&str>, Vec<&str>) =
                checks.iter().partition(|it| is_there(it));
            table += &format!("{name:<28}{}\n", there.join(" "));
            missing.extend(absent.into_iter().map(|check| format!("{name} {check}")));
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
        let cells = CLIENTS.iter().flat_map(|(client, revisions, checks)| {
            revisions.iter().flat_map(move |revision| {
                checks.iter().map(move |check| format!("cell {client} {revision} {check}\n"))
            })
        });
        let all: String = cells.collect();
        assert_eq!(table(&all).unwrap().lines().count(), 7);
        let less = all.replace("cell python-1.12 2025-06-18 error\n", "");
        let error = table(&less).unwrap_err().to_string();
        assert!(error.ends_with("not checked: python-1.12 2025-06-18 error"), "{error}");
    }
}
