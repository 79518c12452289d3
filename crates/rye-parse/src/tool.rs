//! Tool manifests: YAML files, and scripts with a header (SPEC 5.1, 5.2).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    ParseError, Problem, ProblemKind,
    config::unknown_extension,
    problem::Report,
    yaml::{self, LONGEST_FILE},
};

mod manifest;
mod script;

/// The extensions of tools.
const EXTENSIONS: [&str; 7] = ["yaml", "yml", "py", "sh", "rb", "js", "ts"];

/// What a tool is and how it is run. The id is the file's place, not a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolManifest {
    /// What it does, for the model that calls it.
    pub description: String,
    /// Its version, as written.
    pub version: Option<String>,
    /// How it is run.
    pub executor: Executor,
    /// The JSON schema of its arguments: always an object, whose `type` is `object` where it is given.
    pub input_schema: Value,
    /// The JSON schema of its result: always an object.
    pub output_schema: Option<Value>,
    /// What is worth saying although it is no error.
    pub notes: Vec<Problem>,
}

/// How a tool is run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Executor {
    /// A function of the program itself.
    #[non_exhaustive]
    Builtin {
        /// Its name, such as `file-system/read`.
        function: String,
    },
    /// A program that is started.
    #[non_exhaustive]
    Command {
        /// The program.
        command: String,
        /// Its arguments, as written.
        args: Vec<String>,
        /// The working directory, relative to the project.
        cwd: Option<String>,
        /// Variables of its environment, as written.
        env: BTreeMap<String, String>,
        /// Whether it asks for the network (SPEC 5.6); false when not written.
        network: bool,
        /// Seconds after which it is stopped.
        timeout_seconds: Option<u64>,
    },
    /// A request that is sent.
    #[non_exhaustive]
    Http {
        /// The address, as written.
        url: String,
        /// The method, in capitals; `GET` when not written.
        method: String,
        /// Header fields, as written.
        headers: BTreeMap<String, String>,
        /// The body, as written.
        body: Option<Value>,
        /// The name under which the operator keeps a secret that is sent along; never the secret itself.
        credential: Option<String>,
        /// Seconds after which it is given up.
        timeout_seconds: Option<u64>,
    },
    /// A tool of an MCP server.
    #[non_exhaustive]
    Mcp {
        /// The server's name in configuration.
        server: String,
        /// The tool's name on the server.
        tool: String,
        /// Arguments that are always sent.
        fixed_params: Map<String, Value>,
        /// The argument that the caller's arguments are sent in; absent means beside the fixed ones.
        params_key: Option<String>,
        /// Seconds after which it is given up.
        timeout_seconds: Option<u64>,
    },
    /// The script that holds the header.
    #[non_exhaustive]
    Script {
        /// Its extension, which decides the interpreter: `py`, `sh`, `js`, `ts` or `rb`.
        extension: String,
        /// Whether it asks for the network (SPEC 5.6); false when not written.
        network: bool,
        /// Seconds after which it is stopped.
        timeout_seconds: Option<u64>,
    },
}

/// Reads a tool: a YAML manifest (`yaml`, `yml`) or a script's header (`py`, `sh`, `rb`, `js`, `ts`).
///
/// # Errors
///
/// Every problem of the file, each with its place; an extension that is none of these.
///
/// ```
/// let script = "#!/bin/sh\n# /// rye\n# description: Says hello.\n# input_schema: {type: object}\n# ///\necho hello\n";
/// let tool = rye_parse::tool(script, "sh")?;
/// assert_eq!(tool.description, "Says hello.");
/// # Ok::<(), rye_parse::ParseError>(())
/// ```
pub fn tool(source: &str, extension: &str) -> Result<ToolManifest, ParseError> {
    let mut report = Report::new(source);
    let manifest = match extension {
        "yaml" | "yml" => yaml::read(&mut report, 0..source.len(), "file", LONGEST_FILE)
            .and_then(|document| manifest::read(&mut report, &document, None)),
        "py" | "sh" | "rb" => script::read(&mut report, "#", extension)
            .and_then(|document| manifest::read(&mut report, &document, Some(extension))),
        "js" | "ts" => script::read(&mut report, "//", extension)
            .and_then(|document| manifest::read(&mut report, &document, Some(extension))),
        _ => {
            report.error(unknown_extension(extension, &EXTENSIONS));
            None
        }
    };
    let notes = report.finish()?;
    // A report without problems always comes with a manifest; should it not, that is a problem too.
    let nothing =
        || ParseError::new(vec![Problem::new(ProblemKind::NoToolHeader, 0..0, "nothing to read")]);
    Ok(ToolManifest { notes, ..manifest.ok_or_else(nothing)? })
}
