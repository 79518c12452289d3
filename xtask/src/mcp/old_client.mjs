// An older version of the official TypeScript client against `rye mcp`, over both transports.
//
// Called by `cargo xtask mcp`, which sets the variables. Besides the results, the transport must report no error: this
// version reports what it cannot read and goes on.

import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";

const sdk = new URL("node_modules/@modelcontextprotocol/sdk/package.json", import.meta.url);
const version = JSON.parse(readFileSync(sdk)).version.split(".").slice(0, 2).join(".");
const [command, ...args] = process.env.RYE_MCP.split(" ");
const errors = [];

function expect(what, holds, got) {
  if (!holds) {
    console.error(`error: TypeScript ${version}: ${what}: ${JSON.stringify(got)}`);
    process.exit(1);
  }
}

// Reports a successful check to `cargo xtask mcp`, which requires all of them.
function cell(what) {
  console.log(`cell typescript-${version} ${LATEST_PROTOCOL_VERSION} ${what}`);
}

async function read(transport, runs) {
  const client = new Client({ name: "xtask", version: "1.0.0" });
  client.onerror = (error) => errors.push(String(error));
  await client.connect(transport);
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name).slice(0, 6);
  expect("the tools", names.join() === "rye_check,rye_execute,rye_explain,rye_fetch,rye_load,rye_search", names);
  cell("list");

  const found = await client.callTool({ name: "rye_search", arguments: { query: "index", limit: 1 } });
  expect("a result", found.structuredContent.results[0].id === "notes/index", found);
  cell("call");

  const failed = await client.callTool({ name: "rye_search", arguments: { quer: "x" } });
  expect("an error to read", failed.isError && failed.content[0].text.includes("do not fit"), failed);
  const strange = await client.callTool({ name: "nothing", arguments: {} }).catch((error) => error);
  expect("an unknown tool refused", strange.code === -32602, strange);
  cell("error");

  if (runs) {
    await run(client);
  }
  // Over HTTP a client that leaves ends its session.
  await transport.terminateSession?.();
  await client.close();
}

async function run(client) {
  const told = [];
  const onprogress = ({ progress }) => told.push(progress);
  const fork = { item_type: "directive", item_id: "notes/index", thread: "fork" };
  const ended = await client.callTool({ name: "rye_execute", arguments: fork }, undefined, { onprogress });
  expect("an end", ended.structuredContent.state === "completed", ended);
  expect("progress", told.length > 3, told);
  cell("progress");
}

const stdio = { command, args: [...args, "--provider", "steps"], stderr: "ignore" };
await read(new StdioClientTransport(stdio), true);
await read(new StreamableHTTPClientTransport(new URL(process.env.RYE_MCP_URL)), false);
expect("nothing to complain of", errors.length === 0, errors);
cell("quiet");
