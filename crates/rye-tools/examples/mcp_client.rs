//! Calls the tools of the MCP server at an address as a thread would: `mcp_client URL`, for the protocol's conformance suite.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "what the suite asks for stands in its variables, and what came of it is to be seen"
)]

use std::error::Error;
use std::sync::Arc;

use rye_caps::{Authority, Capability, Grant, Layer, LayerName};
use rye_sandbox::{ProcessHost, Processes, Rules};
use rye_thread::{Palette, PaletteEntry, ToolSpec};
use rye_tools::mcp::{Connections, Server, ServerAddress, Wrapper};
use rye_types::Effect;
use rye_web::{Web, WebRules};
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let host = ProcessHost::new(folder.path());
    let processes = Arc::new(Processes::new(host, Rules::default(), folder.path())?);
    let connections = Connections::reaching(&processes, &Arc::new(Web::new(WebRules::default())));
    let mut address = ServerAddress::new(&std::env::args().nth(1).ok_or("which server?")?);
    address.private = true;
    let server = Server::new("suite", address);
    let found = connections.discover(&server).await?;
    let pinned = Arc::new(found.set);
    let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
    let capability: Capability = "rye.execute.tool.mcp.suite.tool".parse()?;
    for (name, arguments) in calls(&found.tools)? {
        let wrapper = Wrapper::new(server.clone(), Arc::clone(&pinned), &name);
        let tool = wrapper.tool(&json!({}), &connections)?;
        let spec = ToolSpec::new(&name, "A tool of the suite.", json!({}));
        let entry = PaletteEntry::new(&name, spec, capability.clone(), Effect::Once, tool);
        let palette = Palette::new(vec![entry])?;
        let output = palette.call(&authority, &name, arguments.clone()).await;
        println!("{name} {arguments}: {output:?}");
    }
    Ok(())
}

/// What the suite wants called; where it says nothing, each tool with something in each of its places.
fn calls(listed: &[Value]) -> Result<Vec<(String, Value)>, Box<dyn Error>> {
    let wanted = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let wanted: Value = serde_json::from_str(&wanted).unwrap_or_default();
    let name = |call: &Value| call["name"].as_str().unwrap_or_default().to_owned();
    if let Some(wanted) = wanted["toolCalls"].as_array() {
        return Ok(wanted.iter().map(|call| (name(call), call["arguments"].clone())).collect());
    }
    // A tool that takes a schema is shown what came of the first tool's.
    let came = listed.first().map(|tool| tool["inputSchema"].clone()).unwrap_or_default();
    let value = |(name, schema): (&String, &Value)| match name.as_str() {
        "schema" => (name.clone(), came.clone()),
        _ => (name.clone(), some(schema)),
    };
    let call = |tool: &Value| {
        let places = tool["inputSchema"]["properties"].as_object();
        let filled: Map<String, Value> = places.into_iter().flatten().map(value).collect();
        (name(tool), filled.into())
    };
    Ok(listed.iter().map(call).collect())
}

/// A value of the schema's type.
fn some(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    }
}
