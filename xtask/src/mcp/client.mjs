// The official TypeScript clients against `rye mcp`: the one that only knows the handshake, and the one that knows both modes.
//
// Called by `cargo xtask mcp`, which sets the variables.

import { Client as Legacy } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { StreamableHTTPClientTransport as LegacyHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client, StreamableHTTPClientTransport as Http } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = process.env.RYE_MCP.split(" ");
const url = new URL(process.env.RYE_MCP_URL);

function expect(what, holds, got) {
  if (!holds) {
    console.error(`error: ${what}: ${JSON.stringify(got)}`);
    process.exit(1);
  }
}

// Reports a successful check to `cargo xtask mcp`, which requires all of them.
function cell(revision, what) {
  console.log(`cell typescript ${revision} ${what}`);
}

async function reading(client, call, revision) {
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name).slice(0, 6);
  expect("the tools", names.join() === "rye_check,rye_execute,rye_explain,rye_fetch,rye_load,rye_search", names);
  cell(revision, "list");

  // Both clients check structured results with the tools' output schemas.
  const found = await client.callTool({ name: "rye_search", arguments: { query: "index", limit: 1 } });
  expect("a result", found.structuredContent.results[0].id === "notes/index", found);
  const item = { item_type: "knowledge", item_id: "notes/index-style" };
  const loaded = await client.callTool({ name: "rye_load", arguments: item });
  expect("a text", loaded.structuredContent.content.includes("rye:signed:"), loaded);
  cell(revision, "call");

  const failed = await client.callTool({ name: "rye_search", arguments: { quer: "x" } });
  expect("an error to read", failed.isError && failed.content[0].text.includes("do not fit"), failed);
  const strange = await client.callTool({ name: "nothing", arguments: {} }).catch((error) => error);
  expect("an unknown tool refused", strange.code === -32602, strange);
  cell(revision, "error");

  const { prompts } = await client.listPrompts();
  expect("a prompt", prompts.some((prompt) => prompt.name === "notes/index"), prompts);
  const filled = await client.getPrompt({ name: "notes/index", arguments: { folder: "notes" } });
  expect("a filled prompt", filled.messages.at(-1).content.text.includes("<returns>"), filled);
}

async function running(client, call, revision) {
  const told = [];
  const onprogress = ({ progress, message }) => told.push([progress, message]);
  const fork = { item_type: "directive", item_id: "notes/index", thread: "fork" };
  const ended = await call(client, { name: "rye_execute", arguments: fork }, { onprogress });
  expect("an end", ended.structuredContent.state === "completed", ended);
  const grows = told.every(([value], index) => index === 0 || value > told[index - 1][0]);
  expect("progress that grows", told.length > 3 && grows, told);
  cell(revision, "progress");
}

async function cancelling(client, call, revision) {
  const stop = new AbortController();
  let thread;
  const onprogress = ({ message }) => {
    thread ??= message.replace("thread ", "");
    stop.abort();
  };
  const fork = { item_type: "directive", item_id: "notes/waits", thread: "fork" };
  const params = { name: "rye_execute", arguments: fork };
  const given = await call(client, params, { onprogress, signal: stop.signal }).catch((error) => error);
  expect("a call that was given up", given instanceof Error, given);
  const asked = { name: "rye_thread_status", arguments: { thread, wait_seconds: 50 } };
  const status = (await client.callTool(asked)).structuredContent;
  expect("a thread that can go on", status.state === "stopped" && "turns" in status, status);
  cell(revision, "cancel");
}

// A call that waits for approval, with a client that asks its user.
async function deciding(client, call, revision, asked) {
  const fork = { item_type: "directive", item_id: "notes/asks", thread: "fork" };
  for (const decision of ["approve", "deny", undefined]) {
    asked.answer = decision ? { action: "accept", content: { decision } } : { action: "decline" };
    asked.questions = [];
    const { structuredContent: ended } = await call(client, { name: "rye_execute", arguments: fork }, {});
    const [question] = asked.questions;
    expect("one question", asked.questions.length === 1, asked.questions);
    expect("the question", question.message.includes("`rye/file-system/glob`"), question);
    expect("words to choose from", question.requestedSchema.properties.decision.enum.join() === "approve,deny", question);
    const waits = ended.state === "suspended" && "undecided" in ended;
    expect(`what comes of ${decision}`, waits === (decision === undefined), ended);
    expect(`what comes of ${decision}`, decision !== "approve" || ended.state === "completed", ended);
    if (decision) cell(revision, decision);
  }
}

const identity = { name: "xtask", version: "1.0.0" };
const form = { elicitation: { form: {} } };
// The revision that each client must use; the first client only knows the handshake.
const eras = {
  "2025-11-25": [
    (capabilities) => new Legacy(identity, { capabilities }),
    LegacyStdio,
    LegacyHttp,
    (c, p, o) => c.callTool(p, undefined, o),
    ElicitRequestSchema,
  ],
  "2026-07-28": [
    (capabilities) => new Client(identity, { capabilities, versionNegotiation: { mode: "auto" } }),
    Stdio,
    Http,
    (c, p, o) => c.callTool(p, o),
    "elicitation/create",
  ],
};
for (const [revision, [make, Pipe, Web, call, elicitation]] of Object.entries(eras)) {
  const connected = async (transport, work, asked) => {
    const client = make(asked ? form : {});
    if (asked) {
      client.setRequestHandler(elicitation, async ({ params }) => {
        asked.questions.push(params);
        return asked.answer;
      });
    }
    await client.connect(transport);
    const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "2025-11-25";
    expect("the revision", spoken === revision, spoken);
    await work(client, call, revision, asked);
    await client.close();
  };
  await connected(new Pipe({ command, args }), reading);
  await connected(new Web(url), reading);
  await connected(new Pipe({ command, args: [...args, "--provider", "steps"] }), running);
  await connected(new Pipe({ command, args }), cancelling);
  const line = [...args, "--provider", "steps", "--approve-by-client"];
  await connected(new Pipe({ command, args: line }), deciding, {});
}
