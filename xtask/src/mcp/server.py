"""A server made with the official Python SDK, whose tools Rye wraps and calls."""

import os

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("reference")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("nothing works")


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Reports progress."""
    for n in range(count):
        await ctx.report_progress(n + 1, count, "a step")
    return "done"


if os.environ.get("MORE"):

    @server.tool()
    def erase() -> str:
        """Erases everything."""
        return "erased"


if port := os.environ.get("PORT"):
    server.run(transport="streamable-http", port=int(port))
else:
    server.run(transport="stdio")
