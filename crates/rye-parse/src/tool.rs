//! Tool manifests: YAML files, and scripts with a header (SPEC 5.1, 5.2).

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Map, Value};

use crate::{
    ParseError, Problem, ProblemKind,
    config::unknown_extension,
    problem::Report,
    strict::Document,
    yaml::{self, LONGEST_FILE},
};

mod manifest;
mod script;

/// The extensions of tools.
const EXTENSIONS: [&str; 7] = ["yaml", "yml", "py", "sh", "rb", "js", "ts"];

/// A tool and the way to run it. The id is not included, because it is the path of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolManifest {
    /// The description for the model that calls the tool.
    pub description: String,
    /// The version, as written.
    pub version: Option<String>,
    /// The way to run the tool.
    pub executor: Executor,
    /// The JSON schema of the arguments. It is an object, and its `type`, if present, is `object`.
    pub input_schema: Value,
    /// The JSON schema of the result. It is an object.
    pub output_schema: Option<Value>,
    /// Problems that do not make the manifest invalid.
    pub notes: Vec<Problem>,
}

/// The way to run a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Executor {
    /// Calls a function of the program itself.
    #[non_exhaustive]
    Builtin {
        /// The name of the function, such as `file-system/read`.
        function: String,
    },
    /// Starts a program.
    #[non_exhaustive]
    Command {
        /// The program.
        command: String,
        /// The arguments of the program, as written.
        args: Vec<String>,
        /// The working directory, relative to the project.
        cwd: Option<String>,
        /// Environment variables, as written.
        env: BTreeMap<String, String>,
        /// `true` if the tool requests network access (SPEC 5.6); `false` if not written.
        network: bool,
        /// The time in seconds after which the program is stopped.
        timeout_seconds: Option<u64>,
    },
    /// Sends an HTTP request.
    #[non_exhaustive]
    Http {
        /// The address, as written.
        url: String,
        /// The method, in capitals; `GET` if not written.
        method: String,
        /// Header fields, as written.
        headers: BTreeMap<String, String>,
        /// The body, as written.
        body: Option<Value>,
        /// The name of a secret that the operator keeps and that is sent with the request. Never the secret itself.
        credential: Option<String>,
        /// The time in seconds after which the request is stopped.
        timeout_seconds: Option<u64>,
    },
    /// Calls a tool of an MCP server.
    #[non_exhaustive]
    Mcp {
        /// The name of the server in the configuration.
        server: String,
        /// The name of the tool on the server.
        tool: String,
        /// Arguments that are always sent.
        fixed_params: Map<String, Value>,
        /// The parameter that contains the caller's arguments. If absent, they are sent next to the fixed ones.
        params_key: Option<String>,
        /// The time in seconds after which the call is stopped.
        timeout_seconds: Option<u64>,
    },
    /// Runs the script that contains the header.
    #[non_exhaustive]
    Script {
        /// The extension, which decides the interpreter: `py`, `sh`, `js`, `ts` or `rb`.
        extension: String,
        /// The arguments of the script, as written.
        args: Vec<String>,
        /// `true` if the script requests network access (SPEC 5.6); `false` if not written.
        network: bool,
        /// The time in seconds after which the script is stopped.
        timeout_seconds: Option<u64>,
    },
}

/// Parses a tool: a YAML manifest (`yaml`, `yml`) or the header of a script (`py`, `sh`, `rb`, `js`, `ts`).
///
/// # Errors
///
/// Every problem of the file, with its place, or an unknown extension.
///
/// ```
/// let script = "#!/bin/sh\n# /// rye\n# description: Says hello.\n# input_schema: {type: object}\n# ///\necho hello\n";
/// let tool = rye_parse::tool(script, "sh")?;
/// assert_eq!(tool.description, "Says hello.");
/// # Ok::<(), rye_parse::ParseError>(())
/// ```
pub fn tool(source: &str, extension: &str) -> Result<ToolManifest, ParseError> {
    placed_tool(source, extension).map(|tool| tool.manifest)
}

/// A parsed tool with the places of the keys of its manifest.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlacedTool {
    /// The manifest, as [`tool`] returns it.
    pub manifest: ToolManifest,
    document: Document,
}

impl PlacedTool {
    /// Returns the bytes of the key or list element at `path`, such as `["args", "0"]`.
    ///
    /// If it has no place of its own, the result is that of the nearest key around it. For an empty path, it is the
    /// first line of the manifest.
    pub fn place(&self, path: &[&str]) -> Range<usize> {
        self.document.place_of_value(path)
    }
}

/// Parses a tool like [`tool`], and keeps the places of the keys of its manifest.
///
/// # Errors
///
/// The ones of [`tool`].
pub fn placed_tool(source: &str, extension: &str) -> Result<PlacedTool, ParseError> {
    let mut report = Report::new(source);
    let document = match extension {
        "yaml" | "yml" => yaml::read(&mut report, 0..source.len(), "file", LONGEST_FILE),
        "py" | "sh" | "rb" => script::read(&mut report, "#", extension),
        "js" | "ts" => script::read(&mut report, "//", extension),
        _ => {
            report.error(unknown_extension(extension, &EXTENSIONS));
            None
        }
    };
    let script = (!matches!(extension, "yaml" | "yml")).then_some(extension);
    let read = document.and_then(|mut document| {
        let manifest = manifest::read(&mut report, &document, script)?;
        // The manifest has a copy of what is used of it.
        document.value = Map::new();
        Some((manifest, document))
    });
    let notes = report.finish()?;
    // A report without problems always comes with a manifest. If it does not, that is reported as a problem.
    let nothing =
        || ParseError::new(vec![Problem::new(ProblemKind::NoToolHeader, 0..0, "nothing to read")]);
    let (manifest, document) = read.ok_or_else(nothing)?;
    Ok(PlacedTool { manifest: ToolManifest { notes, ..manifest }, document })
}
