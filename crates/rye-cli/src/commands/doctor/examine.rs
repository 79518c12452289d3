//! The checks, with a function for each requirement of a run.

use std::fs;
use std::path::PathBuf;

use rye::resolve::{ResolveError, Space, TrustNote, TrustSubject, trust_entries};
use rye::sign::PublicKey;
use rye::types::{ItemKind, SandboxMode};
use rye::web::Credential;
use rye::{
    APPROVAL_FILE, Checked, DEFAULT_PROVIDER, DefaultProvider, PrepareError, Project,
    ProviderFacts, Rye, Severity,
};

use super::places::{committed_keys, records, unread_repository};
use super::{Finding, Standing, sentence};
use crate::environment::{Environment, NamedDocument};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::key_store::{KeyStore, end_of_trust, ending_soon, signing_key_if_any};
use crate::output;
use crate::writable::may_be_made;

/// Runs all checks, in the order in which a new user needs them.
pub(super) fn all(environment: &Environment) -> Vec<Finding> {
    let mut findings = vec![program()];
    findings.extend(spaces(environment));
    findings.extend(records(environment));
    findings.extend(key(environment));
    findings.extend(committed_keys(environment));
    findings.extend(unread_repository(environment));
    match environment.rye() {
        Ok(rye) => {
            findings.push(trust(environment, &rye));
            findings.extend(revocations(&rye));
            findings.extend(ends(environment));
            let config = checked_config(environment);
            findings.extend(items(&rye, environment, &config));
            findings.extend(providers(&rye));
            findings.push(default_provider(&rye));
            findings.extend(sandbox(&rye));
            findings.extend(bounds(&rye));
            findings.extend(home(&rye));
            findings.extend(web(&rye));
            findings.extend(credentials(&rye));
            findings.extend(approval(&rye, &config));
            findings.extend(servers(&rye));
        }
        Err(failure) => findings.push(Finding::wrong(
            "trust",
            sentence(&failure),
            "mend or remove the file that is named; nothing runs before",
        )),
    }
    findings
}

fn program() -> Finding {
    Finding::fine("program", format!("rye {}", env!("CARGO_PKG_VERSION")))
}

/// Checks the sources of items.
fn spaces(environment: &Environment) -> Vec<Finding> {
    let project = match environment.project() {
        Ok(project) => Finding::fine("project", output::path(project)),
        Err(failure) => Finding::note(
            "project",
            sentence(&failure),
            "`rye init` begins one; without a project, items can be looked at and nothing runs",
        ),
    };
    let user = match environment.user() {
        Ok(user) if user.is_dir() && !may_be_made(&user.join(".ai")) => Finding::note(
            "user",
            format!(
                "`{}` cannot be written: keys and trust stay as they are, and caches are temporary",
                user.display()
            ),
            "make it a folder that you may write into, or name another one with `--user-space`",
        ),
        Ok(user) if user.is_dir() => Finding::fine("user", output::path(user)),
        Ok(user) => Finding::note(
            "user",
            format!("`{}` is not there", user.display()),
            "make the folder, or name another one with `--user-space`",
        ),
        Err(failure) => Finding::note("user", sentence(&failure), "set one of them"),
    };
    vec![project, user]
}

/// Checks the key that signs items and records.
fn key(environment: &Environment) -> Vec<Finding> {
    match signing_key_if_any(environment) {
        Ok(Some(key)) => {
            let key = key.public();
            vec![of_key(&key, environment), mode(environment)].into_iter().flatten().collect()
        }
        Ok(None) => vec![Finding::note(
            "keys",
            "no signing key in the user space".to_owned(),
            "`rye keys generate` makes one; without it you run what others signed, and sign nothing",
        )],
        Err(failure) => vec![Finding::wrong(
            "keys",
            sentence(&failure),
            "bring the key back from a copy, or move the file away and make a new key",
        )],
    }
}

fn of_key(key: &PublicKey, environment: &Environment) -> Option<Finding> {
    let id = key.key_id();
    let rye = environment.rye().ok()?;
    let Some(trusted) = rye.library().trust().find(id) else {
        let advice = "`rye keys export > FILE` and `rye trust add FILE` trust it";
        let text = format!("signing key {id}, which nothing here trusts");
        return Some(Finding::wrong("keys", text, advice));
    };
    Some(match end_of_trust(trusted) {
        None => Finding::fine("keys", format!("signing key {id}, trusted")),
        Some(how) => Finding::wrong(
            "keys",
            format!("signing key {id}, which {how}"),
            match rye.library().trust_in(Space::User).find(id).and_then(end_of_trust) {
                Some(_) => {
                    "move it away, make a new one with `rye keys generate`, and sign your items again"
                }
                None => {
                    "the project's list concerns the project alone; ask the signer of the list, or let another key sign here"
                }
            },
        ),
    })
}

/// Checks that other users cannot read the private key.
#[cfg(unix)]
fn mode(environment: &Environment) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt as _;
    let private = KeyStore::of(environment).ok()?.private();
    let mode = fs::metadata(&private).ok()?.permissions().mode() & 0o077;
    let path = private.display();
    (mode != 0).then(|| {
        let text = format!("others on this machine may open `{path}`");
        Finding::wrong(
            "keys",
            text,
            &format!("chmod 600 '{path}'; if another user did, make a new key"),
        )
    })
}

#[cfg(not(unix))]
fn mode(_: &Environment) -> Option<Finding> {
    None
}

/// Warns of keys whose trust ends soon.
fn ends(environment: &Environment) -> Vec<Finding> {
    let ends = ending_soon(environment).into_iter();
    let advice = "write a later `expires` into its trust document and sign that, or sign the items with another key";
    ends.map(|text| Finding::note("trust", text, advice)).collect()
}

/// Checks the trusted keys.
fn trust(environment: &Environment, rye: &Rye) -> Finding {
    let named = environment.trust_documents().unwrap_or_default();
    let named: Vec<_> = named.iter().map(NamedDocument::for_run).collect();
    let entries = trust_entries(rye.library().spaces(), &named, Environment::now());
    let entries = match entries {
        Ok(reading) => reading.documents,
        Err(error) => {
            let failure = Failure::from(error);
            return Finding::wrong("trust", sentence(&failure), "mend the file that is named");
        }
    };
    let (counting, ignored): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.counts());
    let of_project = ignored.iter().filter_map(|entry| entry.location.as_ref());
    let of_project = of_project.filter(|at| at.space == Space::Project).count();
    let text = format!("{} counted", output::counted(counting.len(), "trust document"));
    match (counting.len(), of_project) {
        _ if environment.accepts_unsigned() => Finding::note(
            "trust",
            format!("{text}; unsigned items are accepted, too"),
            "unset `RYE_DEV_MODE` unless you write items here",
        ),
        (0, _) => Finding::note(
            "trust",
            format!("{text}: only what this program brings along can run"),
            "`rye keys generate` for items of your own, `rye trust add FILE` for those of others",
        ),
        (_, 0) => Finding::fine("trust", text),
        (_, waiting) => Finding::note(
            "trust",
            format!("{text}; {waiting} of the project not, as a project vouches for no key"),
            "`rye trust list` shows them; `rye trust add KEY_ID` accepts one whose fingerprint you compared",
        ),
    }
}

/// Checks the revocation lists.
fn revocations(rye: &Rye) -> Vec<Finding> {
    let notes = rye.trust_notes().iter();
    let of_lists = notes.filter(|note| note.subject == TrustSubject::RevocationList);
    let finding = |note: &TrustNote| {
        let advice = "`rye trust list` shows the list; mend it or remove it, and sign it by its path with `rye sign`";
        match note.is_broken_list() {
            true => Finding::wrong("trust", note.to_string(), advice),
            false => Finding::note("trust", note.to_string(), advice),
        }
    };
    of_lists.map(finding).collect()
}

/// Counts the usable and the refused items.
fn items(rye: &Rye, environment: &Environment, config: &[Checked]) -> Vec<Finding> {
    let preview = environment.preview(false).ok();
    let of_kind = |kind| {
        let found = of_kind(rye, preview.as_deref().unwrap_or(rye), kind);
        let is_open = kind == ItemKind::Config && found.standing != Standing::Wrong;
        is_open.then(|| misfit(config)).flatten().unwrap_or(found)
    };
    let unread = rye.refuse_config_in_other_case().err();
    let unread = unread.map(|error| {
        Finding::wrong(
            "items",
            sentence(&Failure::from(error)),
            "rename the file; nothing runs before",
        )
    });
    let warned = warnings("items", config, |id| id != APPROVAL_FILE);
    ItemKind::ALL.iter().copied().map(of_kind).chain(unread).chain(warned).collect()
}

/// Counts the items of a kind. `shown` is the project with the operator's drafts, which are no more wrong than unsigned items.
fn of_kind(rye: &Rye, shown: &Project, kind: ItemKind) -> Finding {
    let (found, refused) = refusals(rye, kind);
    let text = format!("{kind}: {found} found, {} refused", refused.len());
    let Some(first) = refused.first() else { return Finding::fine("items", text) };
    let advice = format!("`rye list --kind {kind}` says which and why");
    match refusals(shown, kind).1.into_iter().find(|error| !is_unvouched(error)) {
        Some(wrong) => {
            let reason = sentence(&Failure::of(&wrong.without_text(), Exit::Refused));
            Finding::wrong("items", format!("{text}: {reason}"), &advice)
        }
        None => Finding::note("items", format!("{text}, such as {}", code(first)), &advice),
    }
}

/// Checks the files of configuration as `rye check` does.
fn checked_config(environment: &Environment) -> Vec<Checked> {
    let is_config =
        |path: &PathBuf| rye::place(path).is_some_and(|(kind, _)| kind == ItemKind::Config);
    let Ok(files) = files::of_project(environment) else { return Vec::new() };
    let files: Vec<PathBuf> = files.into_iter().filter(is_config).collect();
    let spaces = environment.to_check(false, false);
    spaces.map(|spaces| spaces.checker().check_files(&files)).unwrap_or_default()
}

/// A note for each warning about the files of configuration whose id `is_meant`.
fn warnings(
    area: &'static str,
    config: &[Checked],
    is_meant: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let is_meant = |checked: &&Checked| checked.id.as_ref().is_some_and(|id| is_meant(id.as_str()));
    let notes = config.iter().filter(is_meant).flat_map(|checked| {
        let path = checked.path.display();
        checked.warnings().map(move |warning| {
            let text = format!("config: `{path}`: {}", warning.sentence());
            Finding::note(area, text, &format!("`rye check {path}` shows it at its place"))
        })
    });
    notes.collect()
}

/// The first error in a file of configuration that is signed and can be parsed.
fn misfit(config: &[Checked]) -> Option<Finding> {
    config.iter().find_map(|checked| {
        let error = checked.findings.iter().find(|it| it.severity == Severity::Error)?;
        let path = checked.path.display();
        let text = format!("config: `{path}`: {}", error.message);
        Some(Finding::wrong("items", text, &format!("`rye check {path}` shows it at its place")))
    })
}

/// The number of items of a kind, and the reason for each that is refused.
fn refusals(project: &Project, kind: ItemKind) -> (usize, Vec<ResolveError>) {
    let (items, problems) = project.library().describe(kind);
    let found = items.len();
    let refused = items.into_iter().filter_map(|item| item.summary.err());
    (found, refused.chain(problems).collect())
}

/// The outcome of a verification, in one word.
fn code(error: &ResolveError) -> &'static str {
    match error {
        ResolveError::Unverified { source, .. } => source.code(),
        _ => "unusable",
    }
}

/// Returns `true` for an item that nothing vouches for here, which `rye check` notes and calls no error.
fn is_unvouched(error: &ResolveError) -> bool {
    let ResolveError::Unverified { source, .. } = error else { return false };
    matches!(**source, rye::sign::Error::Unsigned | rye::sign::Error::UnknownKey { .. })
}

/// Checks the providers.
fn providers(rye: &Rye) -> Vec<Finding> {
    match rye.providers() {
        Ok(providers) => providers
            .into_iter()
            .map(|(name, facts)| match facts {
                Ok(facts) => provider(&facts),
                Err(error) => Finding::note(
                    "provider",
                    format!("{name}: {}", sentence(&Failure::from(error))),
                    "mend or sign its file, or run with another `--provider`",
                ),
            })
            .collect(),
        Err(error) => {
            let text = sentence(&Failure::from(error));
            vec![Finding::wrong("provider", text, "make the folder readable")]
        }
    }
}

fn provider(facts: &ProviderFacts) -> Finding {
    let models = output::counted(facts.models, "model");
    let text = format!("{}: {models} at {}", facts.name, facts.base_url);
    match &facts.key_variable {
        Some(name) if Environment::variable(name).is_none() => Finding::note(
            "provider",
            format!("{text}, no key"),
            &format!("set `{name}` to run with it; `--provider steps` needs no model"),
        ),
        _ => Finding::fine("provider", text),
    }
}

/// Reports the provider of runs that name none, and the file that chooses it.
fn default_provider(rye: &Rye) -> Finding {
    let named = match rye.default_provider() {
        Ok(named) => named,
        Err(error) => {
            let text = sentence(&Failure::from(error));
            return Finding::note("provider", text, "mend or sign the file that is named");
        }
    };
    let Some(DefaultProvider { name, location, .. }) = named else {
        let text =
            format!("runs that name no provider ask {DEFAULT_PROVIDER}, as no file names another");
        return Finding::fine("provider", text);
    };
    let text = format!("runs that name no provider ask {name}, says `{location}`");
    let is_usable = rye
        .providers()
        .is_ok_and(|all| all.iter().any(|(known, facts)| *known == name && facts.is_ok()));
    match is_usable {
        true => Finding::fine("provider", text),
        false => Finding::note(
            "provider",
            format!("{text}, which is no usable provider"),
            "name another one there, or add its configuration with `rye new provider`",
        ),
    }
}

/// Checks the sandbox of programs. Without a project, no program is started.
fn sandbox(rye: &Rye) -> Option<Finding> {
    let report = match rye.sandbox() {
        Ok(report) => report?,
        Err(PrepareError::NoProject) => return None,
        Err(PrepareError::Sandbox(error)) => {
            let advice = match error.is_of_folder() {
                true => {
                    "set `TMPDIR` to a folder outside of the project that you may write, or unset it"
                }
                false => {
                    "mend what is named, or free what is used up: disk space, memory, open files or processes"
                }
            };
            return Some(Finding::wrong("sandbox", error.to_string(), advice));
        }
        Err(error) => {
            let text = sentence(&Failure::from(error));
            return Some(Finding::wrong("sandbox", text, "mend the file that is named"));
        }
    };
    let mode = report.mode();
    let wanted = report.policy();
    let gaps = report.gaps().join("; ");
    let landlock = match report.enforcement().landlock {
        0 => "no Landlock".to_owned(),
        version => format!("Landlock {version}"),
    };
    let text = match mode {
        SandboxMode::None => format!("{mode}, {wanted}"),
        _ => format!("{mode} with {landlock}, {wanted}"),
    };
    // The reasons against stronger modes say what to mend.
    let refused = report.passed_over().map(|(mode, reason)| format!("; no {mode}: {reason}"));
    let refused: String = refused.collect();
    Some(match (report.may_start(), gaps.is_empty()) {
        (true, true) => Finding::fine("sandbox", format!("{text}: programs are kept in")),
        (true, false) => {
            let advice =
                report.advice().unwrap_or("`sandbox: preferred` takes what this machine can do");
            Finding::note("sandbox", format!("{text}: {gaps}{refused}"), advice)
        }
        (false, _) => {
            let advice = report.advice().unwrap_or("run where there is a whole sandbox");
            Finding::note("sandbox", format!("{text}: no program is started{refused}"), advice)
        }
    })
}

/// Reports the limits of a call's programs. An invalid configuration is reported with the sandbox.
fn bounds(rye: &Rye) -> Option<Finding> {
    let bounds = rye.program_bounds().ok()??;
    let keeper = match rye::sandbox::has_control_groups() {
        true => "by a control group of each call",
        false => "by the launcher, which looks 25 times a second, and by limits of each process",
    };
    let memory = bounds.memory_mib;
    let processes = bounds.processes;
    let text = format!(
        "a call gets at most {memory} MiB of memory and {processes} processes, kept {keeper}"
    );
    Some(Finding::fine("programs", text))
}

/// Warns if the sandbox cannot cover the home folder. Then only the known places of keys and passwords are
/// hidden.
fn home(rye: &Rye) -> Option<Finding> {
    let is_covered = rye.covers_home().ok()??;
    let is_sandboxed = rye.sandbox().ok()??.mode() != SandboxMode::None;
    let noted = || {
        Finding::note(
            "programs",
            "the home folder cannot be hidden from programs, because it is missing, holds the machine, or belongs to the project"
                .to_owned(),
            "name what in it holds secrets under `hidden` of `config/agent/processes.yaml`, or keep the project in a folder of its own",
        )
    };
    (is_sandboxed && !is_covered).then(noted)
}

/// Reports the hosts that tools may reach.
fn web(rye: &Rye) -> Option<Finding> {
    let rules = match rye.web_rules() {
        Ok(rules) => rules?,
        Err(error) => {
            let text = sentence(&Failure::from(error));
            return Some(Finding::wrong("web", text, "mend the file that is named"));
        }
    };
    let mut text = match rules.hosts.as_slice() {
        [] => "tools may reach every public host".to_owned(),
        _ => "tools may reach the hosts that `config/agent/web.yaml` lists".to_owned(),
    };
    if !rules.ports.is_empty() {
        let ports: Vec<String> = rules.ports.iter().map(ToString::to_string).collect();
        text.push_str(&format!(", on port {} too", ports.join(", ")));
    }
    if !rules.private.is_empty() {
        let private: Vec<String> = rules.private.iter().map(ToString::to_string).collect();
        text.push_str(&format!(", and here {}", private.join(", ")));
    }
    Some(Finding::fine("web", text))
}

/// Checks that the secrets of tools are set. Problems of their file are reported with the hosts.
fn credentials(rye: &Rye) -> Vec<Finding> {
    let rules = rye.web_rules().ok().flatten().unwrap_or_default();
    let told = |(name, credential): (&String, &Credential)| {
        let variable = credential.variable();
        match Environment::variable(variable) {
            Some(_) => Finding::fine("web", format!("credential {name}: `{variable}` is set")),
            None => Finding::note(
                "web",
                format!("credential {name}: `{variable}` is not set"),
                &format!("set `{variable}` for the tools that name it"),
            ),
        }
    };
    rules.credentials.iter().map(told).collect()
}

/// Reports the calls that need approval.
fn approval(rye: &Rye, config: &[Checked]) -> Vec<Finding> {
    match rye.approval_patterns() {
        Ok(None) => Vec::new(),
        Ok(Some(count)) => {
            let warned = warnings("approval", config, |id| id == APPROVAL_FILE);
            if !warned.is_empty() {
                return warned;
            }
            let patterns = output::counted(count, "pattern");
            vec![Finding::fine("approval", format!("calls wait for approval by {patterns}"))]
        }
        Err(errors) => of_file("approval", errors),
    }
}

/// Reports the MCP servers that wrappers may name.
fn servers(rye: &Rye) -> Vec<Finding> {
    match rye.mcp_servers() {
        Ok(None) => Vec::new(),
        Ok(Some(names)) => {
            let count = output::counted(names.len(), "MCP server");
            let names = names.join(", ");
            let text = if names.is_empty() { count } else { format!("{count}: {names}") };
            vec![Finding::fine("servers", text)]
        }
        Err(errors) => of_file("servers", errors),
    }
}

/// Reports the problems of configuration files that every run reads.
fn of_file(area: &'static str, errors: Vec<PrepareError>) -> Vec<Finding> {
    let told = |error| {
        let text = sentence(&Failure::from(error));
        Finding::wrong(area, text, "mend or sign the file that is named; nothing runs before")
    };
    errors.into_iter().map(told).collect()
}
