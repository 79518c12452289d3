//! The output of the conformance suite, compared with the list of expected failures.
//!
//! The suite applies the list too, but only to what it scores. Other scenarios, such as those of extensions,
//! could change unnoticed.

use std::collections::BTreeSet;

use anyhow::{Context as _, anyhow};

/// Returns the number of passed checks, and of all checks, as text.
///
/// # Errors
///
/// A scenario fails that is not in the list, a scenario of the list passes, or the output has no total.
pub(super) fn compare(printed: &str, baseline: &str, role: &str) -> anyhow::Result<String> {
    let expected = expected_failures(baseline, role);
    // The suite counts a warning as a failure, but reports it only here.
    let warned: BTreeSet<&str> =
        printed.lines().filter_map(|line| line.trim().strip_prefix("~ ")).collect();
    let mut problems = Vec::new();
    for line in printed.lines().map(str::trim) {
        let passed = line.strip_prefix("✓ ");
        let Some((name, counts)) =
            passed.or_else(|| line.strip_prefix("✗ ")).and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        match (passed.is_some(), expected.contains(name)) {
            (true, true) if !warned.contains(name) => {
                problems.push(format!("`{name}` passes and is in the list: {counts}"))
            }
            (false, false) => problems.push(format!("`{name}` fails: {counts}")),
            _ => {}
        }
    }
    let total = printed.lines().find_map(|line| line.strip_prefix("Total: ")).and_then(total);
    let total = total.context("the suite does not say how many checks passed")?;
    if problems.is_empty() { Ok(total) } else { Err(anyhow!(problems.join("\n"))) }
}

/// Returns the names in the list of a role, such as `server`.
fn expected_failures<'a>(baseline: &'a str, role: &str) -> BTreeSet<&'a str> {
    let mut section = "";
    let mut names = BTreeSet::new();
    for line in baseline.lines() {
        if let Some(name) = line.trim_start().strip_prefix("- ").filter(|_| section == role) {
            names.insert(name.trim());
        } else if let Some(name) = line.strip_suffix(':') {
            section = name;
        }
    }
    names
}

/// Parses `2 passed, 1 failed`, which for a client is followed by `, 3 warnings`.
fn total(counts: &str) -> Option<String> {
    let (passed, failed) = counts.trim().split_once(" passed, ")?;
    let failed: u32 = failed.split_once(" failed")?.0.parse().ok()?;
    let passed: u32 = passed.parse().ok()?;
    (passed > 0).then(|| format!("{passed} of {} checks pass", passed + failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n✗ tasks: 1 passed, 3 failed\n\nTotal: 3 passed, 3 failed\n";

    #[track_caller]
    fn check(printed: &str, baseline: &str, expected: Result<&str, &str>) {
        let told = compare(printed, baseline, "server");
        let told = told.map_err(|error| error.to_string());
        assert_eq!(told.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn what_fails_has_to_be_in_the_list_and_nothing_else_may() {
        check(PRINTED, "# Why.\nserver:\n  - tasks\n", Ok("3 of 6 checks pass"));
        check(PRINTED, "server:\nclient:\n  - tasks\n", Err("`tasks` fails: 1 passed, 3 failed"));
        let both = "server:\n  # Why.\n  - ping\n  - tasks\n";
        check(PRINTED, both, Err("`ping` passes and is in the list: 2 passed, 0 failed"));
        let warned = format!("{PRINTED}Expected failures (in baseline):\n  ~ ping\n  ~ tasks\n");
        check(&warned, both, Ok("3 of 6 checks pass"));
        let untold = "the suite does not say how many checks passed";
        check("Total: 5 passed, 0 failed, 1 warnings\n", "", Ok("5 of 5 checks pass"));
        check("✓ ping: 2 passed, 0 failed\n", "server:\n", Err(untold));
        check("Total: 0 passed, 0 failed\n", "server:\n", Err(untold));
    }
}
