// A server made with the official TypeScript SDK, whose tools Rye wraps and calls.

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { z } from "zod";

const text = (text) => ({ content: [{ type: "text", text }] });

function reference() {
  const server = new McpServer({ name: "reference", version: "1.0.0" });
  server.registerTool(
    "add",
    { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() }, outputSchema: { result: z.number() } },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { result: a + b } }),
  );
  server.registerTool("fail", { description: "Fails." }, async () => {
    throw new Error("nothing works");
  });
  server.registerTool(
    "steps",
    { description: "Reports progress.", inputSchema: { count: z.number() } },
    async ({ count }, { _meta, sendNotification }) => {
      for (let progress = 1; progress <= count && _meta?.progressToken !== undefined; progress++) {
        const params = { progressToken: _meta.progressToken, progress, total: count, message: "a step" };
        await sendNotification({ method: "notifications/progress", params });
      }
      return text("done");
    },
  );
  if (process.env.MORE) {
    server.registerTool("erase", { description: "Erases everything." }, async () => text("erased"));
  }
  return server;
}

if (process.env.PORT) {
  // Each session has its own server.
  const sessions = new Map();
  const answer = async (request, response) => {
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (!transport && id) {
      return response.writeHead(404).end();
    }
    if (!transport) {
      const onsessioninitialized = (id) => sessions.set(id, transport);
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
      await reference().connect(transport);
    }
    await transport.handleRequest(request, response);
  };
  createServer(answer).listen(Number(process.env.PORT), "127.0.0.1");
} else {
  await reference().connect(new StdioServerTransport());
}
