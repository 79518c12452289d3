"""The official Python client against `rye mcp`, over both transports and in both eras.

Called by `cargo xtask mcp`, which sets the variables. A failed check reports the expectation and the value.
"""

import asyncio
import os
import shlex

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

# The mode of a client, and the revision that it must then use.
ERAS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28", "auto": "2026-07-28"}
MODERN = "2026-07-28"


def stdio(*more):
    program, *arguments = shlex.split(os.environ["RYE_MCP"])
    return StdioServerParameters(command=program, args=[*arguments, *more])


def expect(what, holds, got):
    if not holds:
        raise SystemExit(f"error: {what}: {got!r}")


def cell(era, what):
    """Reports a successful check to `cargo xtask mcp`, which requires all of them."""
    print(f"cell python {ERAS[era]} {what}", flush=True)


async def reading(server, era):
    async with Client(server, mode=era) as client:
        # A client of the modern mode sends requests without a handshake, so it may not know the server's name.
        known = client.server_info
        expect("the server's name", era == MODERN or known.name == "rye", known)
        expect("the revision", client.protocol_version == ERAS[era], client.protocol_version)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        expect("the tools", tools[:6] == ["rye_check", "rye_execute", "rye_explain", "rye_fetch", "rye_load", "rye_search"], tools)
        cell(era, "list")

        found = await client.call_tool("rye_search", {"query": "index", "limit": 1})
        expect("a result", found.structured_content["results"][0]["id"] == "notes/index", found)
        loaded = await client.call_tool("rye_load", {"item_type": "knowledge", "item_id": "notes/index-style"})
        expect("a text", "rye:signed:" in loaded.structured_content["content"], loaded)
        read = await client.call_tool(
            "rye_execute",
            {"item_type": "directive", "item_id": "notes/index", "parameters": {"folder": "notes"}},
        )
        expect("a directive", read.structured_content["inputs"]["folder"] == "notes", read)
        cell(era, "call")

        for arguments, part in [
            ({"quer": "x"}, "the arguments do not fit"),
            ({"query": '"open'}, "has a phrase without an end"),
        ]:
            failed = await client.call_tool("rye_search", arguments)
            expect("an error to read", failed.is_error and part in failed.content[0].text, failed)
        try:
            strange = await client.call_tool("nothing", {})
            expect("an unknown tool refused", False, strange)
        except MCPError as error:
            expect("the code of an unknown tool", error.error.code == -32602, error.error)
        cell(era, "error")

        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        expect("a prompt", "notes/index" in prompts, prompts)
        filled = await client.get_prompt("notes/index", {"folder": "notes"})
        expect("a filled prompt", "<returns>" in filled.messages[-1].content.text, filled)


async def running(era):
    told = []

    async def progress(value, total, message):
        told.append((value, message))

    call = {"item_type": "directive", "item_id": "notes/index", "thread": "fork"}
    async with Client(stdio("--provider", "steps"), mode=era) as client:
        ended = await client.call_tool("rye_execute", call, progress_callback=progress)
        expect("an end", ended.structured_content["state"] == "completed", ended)
        values = [value for value, _ in told]
        expect("the revision", client.protocol_version == ERAS[era], client.protocol_version)
        expect("progress that grows", len(told) > 3 and values == sorted(set(values)), told)
        cell(era, "progress")

        begun = (await client.call_tool("rye_execute", {**call, "async": True})).structured_content
        status = await client.call_tool(
            "rye_thread_status", {"thread": begun["thread"], "wait_seconds": 50}
        )
        expect("an end that is asked for", status.structured_content["state"] == "completed", status)


async def cancelling(era):
    """A provider that never answers, and a client that stops waiting."""
    named = asyncio.get_running_loop().create_future()

    async def progress(value, total, message):
        if message.startswith("thread ") and not named.done():
            named.set_result(message.removeprefix("thread "))

    async with Client(stdio(), mode=era) as client:
        call = {"item_type": "directive", "item_id": "notes/waits", "thread": "fork"}
        waiting = asyncio.create_task(client.call_tool("rye_execute", call, progress_callback=progress))
        thread = await named
        waiting.cancel()
        [given] = await asyncio.gather(waiting, return_exceptions=True)
        expect("a call that was given up", isinstance(given, BaseException), given)
        status = await client.call_tool("rye_thread_status", {"thread": thread, "wait_seconds": 50})
        state = status.structured_content
        # A run that has stopped reports turns, and the command that continues it.
        expect("a thread that can go on", state["state"] == "stopped" and "turns" in state, state)
        expect("the revision", client.protocol_version == ERAS[era], client.protocol_version)
        cell(era, "cancel")


async def deciding(era):
    """A call that waits for approval, with a client that asks its user."""
    call = {"item_type": "directive", "item_id": "notes/asks", "thread": "fork"}
    server = stdio("--provider", "steps", "--approve-by-client")
    for decision, what in [("approve", "approve"), ("deny", "deny"), (None, None)]:
        asked = []

        async def answer(context, params):
            asked.append(params)
            if decision is None:
                return ElicitResult(action="decline")
            return ElicitResult(action="accept", content={"decision": decision})

        async with Client(server, mode=era, elicitation_callback=answer) as client:
            ended = (await client.call_tool("rye_execute", call)).structured_content
            expect("the revision", client.protocol_version == ERAS[era], client.protocol_version)
        expect("one question", len(asked) == 1 and "`rye/file-system/glob`" in asked[0].message, asked)
        expect("words to choose from", "approve" in str(asked[0].requested_schema), asked)
        waits = ended["state"] == "suspended" and "undecided" in ended
        expect(f"what comes of {decision}", waits == (decision is None), ended)
        expect(f"what comes of {decision}", decision != "approve" or ended["state"] == "completed", ended)
        if what:
            cell(era, what)

    # If the client cannot ask, the operator decides.
    async with Client(server, mode=era) as client:
        ended = (await client.call_tool("rye_execute", call)).structured_content
    expect("a thread that waits", ended["state"] == "suspended" and "undecided" not in ended, ended)


async def main():
    for era in ERAS:
        await reading(stdio(), era)
        await reading(os.environ["RYE_MCP_URL"], era)
        await running(era)
        await cancelling(era)
        await deciding(era)


asyncio.run(asyncio.wait_for(main(), 120))
