"""A server without any SDK, which plays one of the ways in which servers differ from the protocol.

Called by `cargo xtask mcp` with the name of the way, over stdio, or over HTTP at the port of `PORT`.
"""

import http.server
import json
import os
import sys

WAY = sys.argv[1]
TOOL = {"name": "say", "inputSchema": {"type": "object"}}
BEGUN = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}

# What the list of tools has besides `say`.
LISTED = {
    "bad tools": [{"name": "bad", "inputSchema": "object"}, {"description": "no name"}, "none"],
}


def result(value):
    return lambda id: json.dumps({"jsonrpc": "2.0", "id": id, "result": value})


def texts(*texts):
    return {"content": [{"type": "text", "text": text} for text in texts]}


def error(error, **more):
    return lambda id: json.dumps({"jsonrpc": "2.0", "id": id, "error": error, **more})


LINK = {"type": "resource_link", "name": "the\u202e log", "uri": "file:///var/log/a.log"}

# The line or the lines that answer a call of `say`.
SAID = {
    "half a character": lambda id: '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a \\ud83d b"}]}}' % id,
    "a float as the code": error({"code": -32000.0, "message": "full"}),
    "a word as the code": error({"code": "EFAIL", "message": "full"}),
    "a text as the error": error("full"),
    "an error of no call": lambda id: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"full"}}',
    "pretty": lambda id: json.dumps(json.loads(result(texts("said"))(id)), indent=2),
    "glued": lambda id: '{"jsonrpc":"2.0","method":"notifications/x"}' + result(texts("said"))(id),
    "batched": lambda id: "[" + result(texts("said"))(id) + "]",
    "latin-1": lambda id: json.dumps({"jsonrpc": "2.0", "id": id, "result": texts("caf\u00e9")}, ensure_ascii=False),
    "no error beside a result": lambda id: json.dumps(
        {"jsonrpc": "2.0", "id": id, "error": None, "result": texts("said")}
    ),
    "text beside data": result({**texts("See also b."), "structuredContent": {"a": 1}}),
    "data twice": result({**texts('{"a": 1}'), "structuredContent": {"a": 1}}),
    "text beside no data": result({**texts("It failed."), "structuredContent": {}, "isError": True}),
    "a new kind": result({"content": [{"type": "text", "text": "said"}, {"type": "hologram"}]}),
    "no content": result({}),
    "null as the content": result({"content": None}),
    "a text as the content": result({"content": "said"}),
    "a word as the flag": result({**texts("said"), "isError": "false"}),
    "a link": result({"content": [LINK]}),
    "an object in a text": result(texts('{"a": 1}')),
    "bad tools": result(texts("said")),
}


def answer(message):
    """The line that answers a message, or `None`."""
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        return result(BEGUN)(id)
    if method == "tools/list":
        return result({"tools": [TOOL, *LISTED.get(WAY, [])]})(id)
    if method == "tools/call":
        return SAID.get(WAY, result(texts("said")))(id)
    return None if id is None else error({"code": -32601, "message": "unknown"})(id)


def over_stdio():
    begun = False
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            begun = True
        if WAY == "exits" and not begun:
            return
        if WAY == "is silent" and not begun:
            continue
        said = "[7]" if WAY == "talks nonsense" and not begun else answer(message)
        if said is not None:
            # Latin-1 is not what the protocol says.
            sys.stdout.buffer.write((said + "\n").encode("latin-1" if WAY == "latin-1" else "utf-8"))
            sys.stdout.buffer.flush()


class Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message.get("method") == "server/discover":
            if WAY == "is silent":
                # The client gives up, and asks on another connection.
                self.rfile.read(1)
                self.close_connection = True
                return
            if status := {"500": 500, "202": 202, "an empty 200": 200}.get(WAY):
                return self.send(status, b"")
        said = answer(message)
        self.send(202 if said is None else 200, (said or "").encode())

    def do_GET(self):
        self.send(405, b"")

    def do_DELETE(self):
        self.send(204, b"")

    def send(self, status, body):
        self.send_response(status)
        if body:
            self.send_header("content-type", "application/json")
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if port := os.environ.get("PORT"):
    http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Http).serve_forever()
else:
    over_stdio()
