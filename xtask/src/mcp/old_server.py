"""A server made with older versions of the official Python SDK, whose tools Rye wraps and calls."""

import os

from mcp.server.fastmcp import FastMCP

server = FastMCP("reference", port=int(os.environ.get("PORT", "0")))


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("nothing works")


if os.environ.get("MORE"):

    @server.tool()
    def erase() -> str:
        """Erases everything."""
        return "erased"


server.run(transport="streamable-http" if "PORT" in os.environ else "stdio")
