//! The table of promises, as a part of the manual.

use rye_types::SandboxMode;

use super::{Enforcement, NEWEST_LANDLOCK, Promise};

/// The columns of the table: a title, and the facts of the machines that it speaks of.
const COLUMNS: [(&str, &[SandboxMode], u8); 4] = [
    (
        "`namespaces`, `bubblewrap`",
        &[SandboxMode::Namespaces, SandboxMode::Bubblewrap],
        NEWEST_LANDLOCK,
    ),
    ("the same without Landlock", &[SandboxMode::Namespaces, SandboxMode::Bubblewrap], 0),
    ("`landlock`", &[SandboxMode::Landlock], NEWEST_LANDLOCK),
    ("`none`", &[SandboxMode::None], 0),
];

/// Returns the table of what a program does in which sandbox, in Markdown. It is made from the promises that
/// [`Enforcement::keeps`] decides about, each of which a test tries to break on machines of all kinds.
#[must_use]
pub fn promise_table() -> String {
    let titles = COLUMNS.map(|(title, ..)| title).join(" | ");
    let rows = Promise::ALL.iter().map(|promise| {
        let cells = COLUMNS.map(|(_, modes, landlock)| cell(*promise, modes, landlock)).join(" | ");
        format!("| {} | {cells} |\n", promise.text())
    });
    format!(
        "| a program | {titles} |\n| --- | --- | --- | --- | --- |\n{}",
        rows.collect::<String>()
    )
}

fn cell(promise: Promise, modes: &[SandboxMode], landlock: u8) -> &'static str {
    let keeps = |counts: bool| {
        modes.iter().all(|mode| Enforcement::new(*mode, landlock, counts).keeps(promise))
    };
    match (keeps(true), keeps(false)) {
        (true, true) => "no",
        (true, false) => "where the kernel does not bound them",
        (false, _) => "**yes**",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns leave no difference out: what holds for one version of Landlock holds for all that are there.
    #[test]
    fn the_columns_stand_for_every_machine() {
        for promise in Promise::ALL {
            for (mode, counts) in
                SandboxMode::ALL.iter().flat_map(|mode| [(*mode, true), (*mode, false)])
            {
                let verdict = |version| Enforcement::new(mode, version, counts).keeps(*promise);
                for version in 1..=NEWEST_LANDLOCK {
                    assert_eq!(verdict(version), verdict(1), "{promise:?} {mode} {version}");
                }
            }
        }
    }
}
