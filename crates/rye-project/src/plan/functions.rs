//! The functions that a tool stands for: the capabilities by which operators' rules know it, whatever its id is (SPEC 9.6b).

use rye_caps::{Capability, Invocation, Kind, Primary};
use rye_parse::{Executor, ToolManifest};
use rye_resolve::ItemId;
use rye_sandbox::Template;
use rye_sign::Digest;
use rye_thread::THREAD_DIRECTIVE;
use rye_tools::BASH;
use rye_web::{FETCH, HttpTool, SEND};

/// The call of the tool `id` by its manifest.
///
/// # Errors
///
/// When the manifest names a function that cannot be one, with the reason.
pub(crate) fn invocation(id: &ItemId, manifest: &ToolManifest) -> Result<Invocation, String> {
    let functions = functions(&manifest.executor)?;
    let functions = functions.iter().map(|function| tool_capability(function));
    Ok(Invocation::new(tool_capability(id.as_str())?, functions.collect::<Result<Vec<_>, _>>()?))
}

/// Returns the calls that a capability permits, as rules about functions know them: of a tool with the functions that it stands for,
/// and of a directive both as one that is returned and as one that is started as a thread. `known` are the calls of tools.
#[must_use]
pub fn ways_of_calling(capability: &Capability, known: &[Invocation]) -> Vec<Invocation> {
    if let Some(tool) = known.iter().find(|call| call.item() == capability) {
        return vec![tool.clone()];
    }
    let is_directive =
        (capability.primary(), capability.kind()) == (Primary::Execute, Kind::Directive);
    let starting = tool_capability(THREAD_DIRECTIVE).ok().filter(|_| is_directive);
    let starting = starting.map(|starting| Invocation::new(capability.clone(), [starting]));
    std::iter::once(capability.clone().into()).chain(starting).collect()
}

fn tool_capability(id: &str) -> Result<Capability, String> {
    Capability::new(Primary::Execute, Kind::Tool, id).map_err(|error| error.to_string())
}

/// The item ids by which grants name the functions of an executor.
fn functions(executor: &Executor) -> Result<Vec<String>, String> {
    let functions = match executor {
        Executor::Builtin { function, .. } => vec![builtin(function)],
        // A command or a script can do all that a shell can.
        Executor::Command { .. } | Executor::Script { .. } => vec![builtin(BASH)],
        Executor::Http { method, credential, .. } => request(method, credential.as_deref()),
        Executor::Mcp { server, tool, .. } => vec![format!("mcp/{server}/{}", segment(tool))],
        _ => return Err("this version runs no such tools".to_owned()),
    };
    Ok(functions)
}

/// The id of a function of the program.
pub(crate) fn builtin(function: &str) -> String {
    format!("rye/{function}")
}

/// Returns `true` if a call of the tool starts a thread.
pub(crate) fn starts_threads(manifest: &ToolManifest) -> bool {
    matches!(&manifest.executor, Executor::Builtin { function, .. } if builtin(function) == THREAD_DIRECTIVE)
}

/// A request reads an answer, and may send more than a question, or a secret of the operator's.
fn request(method: &str, credential: Option<&str>) -> Vec<String> {
    let power = HttpTool::new(method, Template::new(Vec::new())).function();
    let sends = (power == SEND).then(|| builtin(SEND));
    let secret = credential.map(|name| builtin(&format!("web/credentials/{name}")));
    [builtin(FETCH)].into_iter().chain(sends).chain(secret).collect()
}

/// The name of a server's tool as a segment of an id. A name that is none gets a part of its digest, so that no two tools of a
/// server have one capability.
fn segment(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.starts_with(|c: char| is_plain(c) && c != '-') && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(64).collect();
    let digest = Digest::of(name.as_bytes()).to_string();
    format!("_{plain}_{}", digest.get(..16).unwrap_or(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(manifest: &str, expected: &[&str]) {
        let manifest = format!("description: T.\ninput_schema: {{}}\n{manifest}");
        let manifest = rye_parse::tool(&manifest, "yaml").unwrap();
        let invocation = invocation(&"t/x".parse().unwrap(), &manifest).unwrap();
        let functions = invocation.functions().iter();
        let ids: Vec<&str> = functions.map(Capability::dotted_id).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn each_executor_has_its_functions() {
        check("executor: builtin\nbuiltin: bash/bash", &["rye.bash.bash"]);
        check("executor: builtin\nbuiltin: file-system/write", &["rye.file-system.write"]);
        check("executor: command\ncommand: \"true\"", &["rye.bash.bash"]);
        check("executor: http\nurl: https://example.org/", &["rye.web.fetch"]);
        check(
            "executor: http\nmethod: POST\nurl: https://example.org/",
            &["rye.web.fetch", "rye.web.send"],
        );
        check(
            "executor: http\nurl: https://example.org/\ncredential: bank",
            &["rye.web.fetch", "rye.web.credentials.bank"],
        );
        check("executor: mcp\nserver: notes\ntool: create", &["mcp.notes.create"]);
    }

    #[test]
    fn a_script_counts_as_the_shell() {
        let script =
            "#!/bin/sh\n# /// rye\n# description: T.\n# input_schema: {type: object}\n# ///\n";
        let manifest = rye_parse::tool(script, "sh").unwrap();
        let invocation = invocation(&"t/x".parse().unwrap(), &manifest).unwrap();
        assert_eq!(invocation.functions()[0].dotted_id(), "rye.bash.bash");
    }

    #[test]
    fn names_of_a_server_s_tools_stay_apart() {
        let names = ["create", "create file", "create_file", "create.file", "-x", "", "ä", "é"];
        let segments: std::collections::BTreeSet<String> =
            names.iter().map(|name| segment(name)).collect();
        assert_eq!(segments.len(), names.len());
        assert!(
            segments.iter().all(|segment| tool_capability(&format!("mcp/s/{segment}")).is_ok())
        );
    }
}
