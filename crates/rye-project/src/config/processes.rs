//! `config/agent/processes.yaml`: what programs that tools start are kept in, and what runs scripts (SPEC 5.2, 5.6).

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use rye_resolve::{Config, Space};
use rye_sandbox::Policy;
use rye_sandbox::Rules;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use strum::IntoStaticStr;

use super::read::{ConfigError, ConfigFile, ConfigProblem, forbidden, read, refuse};

/// The configuration that says it.
pub(crate) const FILE: &str = "agent/processes";

/// The sandbox of the programs that tools start, and the interpreters of scripts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "processes")]
pub(crate) struct ProcessesFile {
    /// The required strength of the sandbox. `required` starts nothing without a whole one, `preferred` takes
    /// the strongest that there is, `off` takes none. A project can only ask for more.
    #[serde(default)]
    #[schemars(with = "SandboxSetting")]
    sandbox: Option<SandboxSetting>,
    /// Absolute paths of files and folders that no program reads, beside those that hold keys; every file adds to those
    /// of the others.
    #[serde(default)]
    #[schemars(inner(regex(pattern = r"^/")))]
    hidden: Vec<PathBuf>,
    /// Files and folders of the home folder that programs see beside those of toolchains, by their paths below it, such as
    /// `.config/git/config`; every file adds to those of the others. Not for projects.
    #[serde(default)]
    #[schemars(inner(regex(pattern = r"^[^/]")))]
    home_visible: Vec<PathBuf>,
    /// The memory that the processes of one call take together, in MiB; 4,096 if no file says. A project can only lower it.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 64, max = 1_073_741_824))]
    memory_mib: Option<u64>,
    /// The processes and threads of one call; 1,024 if no file says. A project can only lower it.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 16, max = 4_194_304))]
    processes: Option<u64>,
    /// The words that run a script, by its extension; the script's path follows them. Not for projects.
    #[serde(default)]
    runtimes: BTreeMap<Extension, Words>,
}

impl ConfigFile for ProcessesFile {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "processes";

    fn problems_of_project(value: &Value) -> Vec<ConfigProblem> {
        const HOME: &str =
            "a project may not show more of the home folder; `home_visible` is for the user space";
        const SCRIPTS: &str =
            "a project may not say what runs scripts; `runtimes` is for the user space";
        forbidden(value, &[("home_visible", HOME), ("runtimes", SCRIPTS)])
    }
}

/// The words that run a script, the program first.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Words(#[schemars(length(min = 1))] Vec<String>);

// The variants have no docs, so that the schema is a plain list and the error of a wrong word lists the right ones.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum SandboxSetting {
    Off,
    Preferred,
    Required,
}

/// The extensions of scripts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Extension {
    Js,
    Py,
    Rb,
    Sh,
    Ts,
}

impl Extension {
    fn as_str(self) -> &'static str {
        self.into()
    }
}

impl From<SandboxSetting> for Policy {
    fn from(wish: SandboxSetting) -> Self {
        match wish {
            SandboxSetting::Off => Self::Off,
            SandboxSetting::Preferred => Self::Preferred,
            SandboxSetting::Required => Self::Required,
        }
    }
}

/// Merges the layers of `agent/processes`. Of the operator's layers, the nearer one decides. A project's
/// layer can hide more, lower bounds and require a sandbox, and nothing else (SPEC 4.3).
///
/// # Errors
///
/// The function fails if a layer breaks the schema, or if it hides a path that `needs_in` calls a need of
/// every program. It fails if a layer shows a place of the home folder in which `secret_in` knows a secret.
/// It fails too if a project's layer names interpreters of scripts, or asks for less than the operator's.
pub(crate) fn process_rules(
    config: Option<&Config>,
    needs_in: impl Fn(&Path) -> Option<PathBuf>,
    secret_in: impl Fn(&Path) -> Option<&'static str>,
) -> Result<Rules, ConfigError> {
    let mut rules = Rules::default();
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: ProcessesFile = read(layer)?;
        let is_projects = layer.location.space == Space::Project;
        let mut problems = if is_projects { milder(&file, &rules) } else { Vec::new() };
        problems.extend(too_wide(&file, &needs_in));
        problems.extend(wrongly_shown(&file, &secret_in));
        refuse::<ProcessesFile>(layer, problems)?;
        rules.sandbox = file.sandbox.map_or(rules.sandbox, Policy::from);
        rules.hidden.extend(file.hidden);
        rules.home_visible.extend(file.home_visible);
        let bounds = &mut rules.bounds;
        bounds.memory_mib = file.memory_mib.unwrap_or(bounds.memory_mib);
        bounds.processes = file.processes.unwrap_or(bounds.processes);
        let runtimes = file.runtimes.into_iter();
        rules.runtimes.extend(runtimes.map(|(name, words)| (name.as_str().to_owned(), words.0)));
    }
    Ok(rules)
}

/// Returns the problems of `home_visible`: all of the home folder, a place outside of it, or keys and passwords.
fn wrongly_shown(
    file: &ProcessesFile,
    secret_in: impl Fn(&Path) -> Option<&'static str>,
) -> Vec<String> {
    let is_plain = |place: &Path| {
        let mut parts = place.components();
        parts.clone().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    let problem = |place: &PathBuf| {
        let shown = place.display();
        if !is_plain(place) {
            return Some(format!(
                "`home_visible` has `{shown}`; write the path of a file or folder below the home folder, without `.` and `..`"
            ));
        }
        let secret = secret_in(place)?;
        Some(format!(
            "`home_visible` has `{shown}`, which programs never see: `~/{secret}` holds keys or passwords"
        ))
    };
    file.home_visible.iter().filter_map(problem).collect()
}

/// Returns the problems of `hidden`: places that every program needs.
fn too_wide(file: &ProcessesFile, needs_in: impl Fn(&Path) -> Option<PathBuf>) -> Vec<String> {
    let wide = file.hidden.iter().filter_map(|place| Some((place, needs_in(place)?)));
    let problem = |(place, needed): (&PathBuf, PathBuf)| {
        let place = place.display();
        let needed = needed.display();
        format!(
            "`hidden` has `{place}`, which would hide `{needed}` from every program; name what in it holds secrets"
        )
    };
    wide.map(problem).collect()
}

/// Returns the problems of a project's layer that is milder than the operator's.
fn milder(file: &ProcessesFile, rules: &Rules) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(wish) = file.sandbox.map(Policy::from).filter(|wish| *wish < rules.sandbox) {
        problems.push(format!(
            "a project may not lower `sandbox` from `{}` to `{wish}`",
            rules.sandbox
        ));
    }
    for (key, asked, most) in [
        ("memory_mib", file.memory_mib, rules.bounds.memory_mib),
        ("processes", file.processes, rules.bounds.processes),
    ] {
        if let Some(asked) = asked.filter(|asked| *asked > most) {
            problems.push(format!("a project may not raise `{key}` from {most} to {asked}"));
        }
    }
    problems
}
