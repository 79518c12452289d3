"""Older versions of the official Python client against `rye mcp`, over both transports.

Called by `cargo xtask mcp`, which sets the variables. Besides the results, the client's log must be empty: these versions
log what they cannot read and go on.
"""

import asyncio
import importlib.metadata
import logging
import os
import shlex

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.exceptions import McpError
from mcp.types import LATEST_PROTOCOL_VERSION

VERSION = ".".join(importlib.metadata.version("mcp").split(".")[:2])
LOGGED = []


class Keep(logging.Handler):
    def emit(self, record):
        LOGGED.append(self.format(record))


def expect(what, holds, got):
    if not holds:
        raise SystemExit(f"error: Python {VERSION}: {what}: {got!r}")


def cell(what):
    print(f"cell python-{VERSION} {LATEST_PROTOCOL_VERSION} {what}", flush=True)


async def read(reader, writer, runs):
    told = []

    async def progress(value, total, message):
        told.append((value, message))

    async with ClientSession(reader, writer) as client:
        begun = await client.initialize()
        expect("the revision", begun.protocolVersion == LATEST_PROTOCOL_VERSION, begun)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        expect("the tools", tools[:6] == ["rye_check", "rye_execute", "rye_explain", "rye_fetch", "rye_load", "rye_search"], tools)
        cell("list")

        found = await client.call_tool("rye_search", {"query": "index", "limit": 1})
        expect("a result", found.structuredContent["results"][0]["id"] == "notes/index", found)
        cell("call")

        failed = await client.call_tool("rye_search", {"quer": "x"})
        expect("an error to read", failed.isError and "do not fit" in failed.content[0].text, failed)
        try:
            strange = await client.call_tool("nothing", {})
            expect("an unknown tool refused", False, strange)
        except McpError as error:
            expect("the code of an unknown tool", error.error.code == -32602, error.error)
        cell("error")

        if not runs:
            return
        call = {"item_type": "directive", "item_id": "notes/index", "thread": "fork"}
        ended = await client.call_tool("rye_execute", call, progress_callback=progress)
        expect("an end", ended.structuredContent["state"] == "completed", ended)
        expect("progress", len(told) > 3, told)
        cell("progress")


async def main():
    logging.getLogger().addHandler(Keep(logging.WARNING))
    program, *arguments = shlex.split(os.environ["RYE_MCP"])
    stdio = StdioServerParameters(command=program, args=[*arguments, "--provider", "steps"])
    async with stdio_client(stdio) as (reader, writer):
        await read(reader, writer, runs=True)
    async with streamablehttp_client(os.environ["RYE_MCP_URL"]) as (reader, writer, _):
        await read(reader, writer, runs=False)
    expect("nothing to complain of", not LOGGED, LOGGED)
    cell("quiet")


asyncio.run(main())
