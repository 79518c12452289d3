// A server made with the official TypeScript SDK, whose tools Rye wraps and calls.

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "reference", version: "1.0.0" });
const text = (text) => ({ content: [{ type: "text", text }] });

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

await server.connect(new StdioServerTransport());
