//! Tools that start programs: what of a manifest becomes which program (SPEC 5.1, 5.2, 5.6).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_caps::Layer;
use rye_parse::{Executor, ToolManifest, placeholders};
use rye_resolve::{Config, Item};
use rye_sandbox::{Bounds, Processes, Report};
use rye_tools::fs::Root;
#[cfg(feature = "mcp")]
use rye_tools::mcp::Reached;
use rye_tools::{CommandTool, ScriptTool, bash, builtin, effect};
#[cfg(feature = "mcp")]
use rye_types::Effect;

use super::backend::{Backend, parameters, template};
use super::error::PrepareError;
#[cfg(feature = "mcp")]
use super::servers::Servers;
use crate::config::{PROCESSES_FILE, process_rules};
use crate::project::Project;

/// The function whose power is the one of starting any program.
pub(crate) use rye_tools::BASH;

/// The launcher of programs in this project, with its configuration.
pub(crate) struct Programs {
    pub(crate) processes: Option<Arc<Processes>>,
    pub(crate) config: Option<Config>,
    #[cfg(feature = "mcp")]
    pub(crate) servers: Servers,
}

/// Reads how programs are started; nothing is started.
pub(crate) fn programs(project: &Project) -> Result<Programs, PrepareError> {
    let (processes, config) = processes(project)?;
    Ok(Programs {
        #[cfg(feature = "mcp")]
        servers: Servers::of(project, processes.as_ref())?,
        processes,
        config,
    })
}

fn processes(project: &Project) -> Result<(Option<Arc<Processes>>, Option<Config>), PrepareError> {
    let config = project.library.config(PROCESSES_FILE)?;
    let folder = project.library.spaces().project().ok_or(PrepareError::NoProject)?;
    let needs_in = |place: &Path| project.processes.as_ref()?.needs_in(folder, place);
    let secret_in = |place: &Path| project.processes.as_ref()?.secret_in_home(place);
    let rules = process_rules(config.as_ref(), needs_in, secret_in)?;
    let made = project.processes.clone().map(|mut host| {
        host.kept.extend(operators_places(project));
        Processes::new(host, rules, folder)
    });
    Ok((made.transpose().map_err(PrepareError::Folder)?.map(Arc::new), config))
}

/// Returns the places that a later command trusts, and that no program may change wherever they lie.
fn operators_places(project: &Project) -> impl Iterator<Item = PathBuf> {
    let spaces = project.library.spaces();
    let roots = spaces.user().into_iter().chain(spaces.system().iter().map(PathBuf::as_path));
    roots.map(|root| root.join(".ai")).chain(project.policy_pins.clone())
}

impl Programs {
    /// The configuration that says which MCP servers there are.
    pub(crate) fn servers_config(&self) -> Option<&Config> {
        #[cfg(feature = "mcp")]
        return self.servers.config.as_ref();
        #[cfg(not(feature = "mcp"))]
        None
    }
}

/// Returns the backend of a verified manifest. The error says why this version cannot offer the tool.
pub(crate) fn backend(
    item: &Item<ToolManifest>,
    root: &Root,
    programs: &Programs,
    policy: &[Layer],
) -> Result<Backend, String> {
    let manifest = item.content.value();
    let starts = Backend::of_program;
    let able =
        || programs.processes.as_ref().ok_or("this program does not start others".to_owned());
    match &manifest.executor {
        Executor::Builtin { function, .. } if function == BASH => Ok(starts(bash(able()?))),
        Executor::Builtin { function, .. } => {
            let (Some(tool), Some(effect)) = (builtin(function, root), effect(function)) else {
                return Err(format!("this version has no builtin function `{function}`"));
            };
            Ok(Backend::in_process(tool, effect))
        }
        Executor::Command { .. } => Ok(starts(command(manifest)?.tool(able()?))),
        Executor::Script { extension, args, network, timeout_seconds, .. } => {
            let mut script = ScriptTool::new(&item.source, extension);
            script.parameters = parameters(&manifest.input_schema);
            let arguments = args.iter().map(|text| template(text, &script.parameters));
            script.arguments = arguments.collect::<Result<_, _>>()?;
            script.network = *network;
            script.timeout_seconds = *timeout_seconds;
            script.tool(able()?).map(starts).ok_or_else(|| {
                format!("no configuration says what runs `.{extension}`; add it to `runtimes` of `{PROCESSES_FILE}` in the user space")
            })
        }
        Executor::Mcp { .. } => of_server(item, programs, policy),
        _ => Err("this version runs no such tools".to_owned()),
    }
}

/// Returns the backend of a tool of an MCP server. The signer of the server's configuration answers
/// for the program. A server's own claims about the effects of its tools are not trusted.
#[cfg(feature = "mcp")]
fn of_server(
    item: &Item<ToolManifest>,
    programs: &Programs,
    policy: &[Layer],
) -> Result<Backend, String> {
    let (tool, reached) = programs.servers.tool(item, policy)?;
    let backend = match reached {
        Reached::Address(_) => Backend::of_web(tool, Effect::Once),
        _ => Backend::of_program(tool),
    };
    Ok(Backend { uses_servers: true, ..backend })
}

#[cfg(not(feature = "mcp"))]
fn of_server(_: &Item<ToolManifest>, _: &Programs, _: &[Layer]) -> Result<Backend, String> {
    Err("this build of Rye runs no tools with `executor: mcp`".to_owned())
}

fn command(manifest: &ToolManifest) -> Result<CommandTool, String> {
    let Executor::Command { command, args, cwd, env, network, timeout_seconds, .. } =
        &manifest.executor
    else {
        return Err("its executor is no command".to_owned());
    };
    let fixed = [Some(command), cwd.as_ref()].into_iter().flatten();
    if let Some(text) = fixed.clone().find(|text| !placeholders(text).is_empty()) {
        return Err(format!("`{text}` has a placeholder, which `command` and `cwd` may not have"));
    }
    let parameters = parameters(&manifest.input_schema);
    let template = |text: &String| template(text, &parameters);
    let mut tool = CommandTool::new(command);
    tool.arguments = args.iter().map(template).collect::<Result<_, _>>()?;
    let variable = |(name, text): (&String, &String)| Ok((name.clone(), template(text)?));
    tool.environment = env.iter().map(variable).collect::<Result<_, String>>()?;
    tool.folder = cwd.clone().unwrap_or_default();
    (tool.network, tool.timeout_seconds) = (*network, *timeout_seconds);
    tool.parameters = parameters;
    Ok(tool)
}

impl Project {
    /// Starts a program to find out which sandbox confines the programs of tools, and returns the
    /// result. Returns `None` for a host that starts no programs.
    ///
    /// # Errors
    ///
    /// Without a project, when the configuration of programs is refused, and when the sandbox cannot be tried out.
    pub fn sandbox(&self) -> Result<Option<Report>, PrepareError> {
        Ok(processes(self)?.0.map(|processes| processes.sandbox()).transpose()?)
    }

    /// The most that the processes of one call take together; `None` for a host that starts none.
    ///
    /// # Errors
    ///
    /// Without a project, and when the configuration of programs is refused.
    pub fn program_bounds(&self) -> Result<Option<Bounds>, PrepareError> {
        Ok(processes(self)?.0.map(|processes| processes.bounds()))
    }

    /// Returns `true` if a sandbox covers the home folder here, but for toolchains; `None` for a host that starts no programs.
    ///
    /// # Errors
    ///
    /// Without a project, and when the configuration of programs is refused.
    pub fn covers_home(&self) -> Result<Option<bool>, PrepareError> {
        Ok(processes(self)?.0.map(|processes| processes.covers_home()))
    }

    /// Starts a program and returns a warning if the sandbox does not confine it fully. Returns
    /// `None` if it does, and for a host that starts no programs.
    ///
    /// # Errors
    ///
    /// Without a project, when the configuration of programs is refused, and when the sandbox cannot be tried out.
    pub fn sandbox_warning(&self) -> Result<Option<String>, PrepareError> {
        Ok(self.sandbox()?.as_ref().and_then(sandbox_warning))
    }
}

/// Returns the warning for the operator, if the sandbox is not complete.
#[must_use]
pub fn sandbox_warning(report: &Report) -> Option<String> {
    let gaps = report.gaps();
    if gaps.is_empty() && report.may_start() {
        return None;
    }
    if !report.may_start() {
        return Some("no program is started, because `sandbox: required` is set and this machine has no whole sandbox".to_owned());
    }
    let mode = report.mode();
    let gaps = gaps.join("; ");
    Some(format!("programs run in the sandbox `{mode}`, which does not keep everything in: {gaps}"))
}
