"""Reads the answers of the conformance tables with the vendors' own SDKs. Called by `cargo xtask sdk`.

Each whole answer and each stream is served on loopback to the SDK of its wire. Its text, thoughts, calls, stop reason
and counts are compared with those that Rye's decoder reads. `differences.json` lists every difference with its reason:
a difference that is not listed fails, and so does a listed one that does not occur.
"""

import collections
import http.server
import json
import pathlib
import sys
import threading

FORMS = ["whole", "stream"]
PARTS = ["text", "reasoning", "calls", "stop", "usage"]


class Vendor(http.server.BaseHTTPRequestHandler):
    """A server that gives the answer of `Vendor.answer` to every request."""

    protocol_version = "HTTP/1.1"
    kind, answer = "", b""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", self.kind)
        self.send_header("content-length", str(len(self.answer)))
        # An SDK that gives up in the middle of a stream leaves bytes behind, which are no answer to its next request.
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_):
        pass


def served(events):
    """The events as a vendor sends them: with names, and with the members of the first event that a row leaves out.

    Rye reads the type in the data, and ignores the name and the members that are added.
    """
    return "".join(map(event_of, completed([event.removeprefix("data: ") for event in events.split("\n\n") if event])))


def event_of(data):
    kind = member(data, "type")
    return f"event: {kind}\ndata: {data}\n\n" if kind else f"data: {data}\n\n"


# The members of the pieces of Chat Completions, which have no type.
CHUNK = ["choices", "usage"]


def member(data, name):
    try:
        return json.loads(data)[name]
    except (ValueError, KeyError, TypeError):
        return None


def completed(events):
    first = member(events[0], "type") if events else None
    if first and first.startswith("response.") and first not in ("response.created", "response.in_progress"):
        response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
        return [json.dumps({"type": "response.created", "response": response}), *events]
    if first == "message_start":
        event = json.loads(events[0])
        return [json.dumps({**event, "message": {"content": [], **event["message"]}}), *events[1:]]
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return [json.dumps({**chunk, **json.loads(event)}) if is_chunk(event) else event for event in events]


def is_chunk(data):
    return any(member(data, name) is not None for name in CHUNK) and member(data, "object") is None


def arguments(value):
    """The object that arguments mean. A call without arguments has an empty object, as in Rye."""
    if value is None or value == "":
        return {}
    return json.loads(value) if isinstance(value, str) else value


def counts(*numbers):
    """The counts, or `None` if one that every answer must have is missing."""
    if any(number is None for number in numbers[:2]):
        return None
    return [number or 0 for number in numbers]


def stop_of(words, word):
    return words.get(word, word)


def anthropic_messages(url):
    import anthropic

    client = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0)
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}

    def whole():
        return client.messages.create(**asked)

    def stream():
        with client.messages.stream(**asked) as events:
            return events.get_final_message()

    def view(answer):
        def each(kind):
            return [block for block in answer.content if block.type == kind]

        usage = answer.usage
        words = {"pause_turn": "pause", "model_context_window_exceeded": "context_window"}
        return {
            "text": "".join(block.text for block in each("text")),
            "reasoning": "".join(block.thinking for block in each("thinking")),
            "calls": [[block.id, block.name, arguments(block.input)] for block in each("tool_use")],
            "stop": stop_of(words, answer.stop_reason),
            "usage": counts(
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
            ),
        }

    return whole, stream, view


def openai_chat(url):
    import openai

    client = openai.OpenAI(api_key="k", base_url=url, max_retries=0)
    asked = {"model": "m", "messages": [{"role": "user", "content": "a"}]}

    def whole():
        return client.chat.completions.create(**asked)

    def stream():
        # The helper of the SDK raises an error for a cut answer, but has read it until then.
        with client.chat.completions.stream(**asked) as events:
            try:
                return events.get_final_completion()
            except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
                return events.current_completion_snapshot

    def view(answer):
        choice = answer.choices[0]
        message, usage = choice.message, answer.usage
        details = usage and usage.prompt_tokens_details
        cached, written = (getattr(details, name, 0) or 0 for name in ("cached_tokens", "cache_write_tokens"))
        calls = [[call.id, call.function.name, arguments(call.function.arguments)] for call in message.tool_calls or []]
        words = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
        return {
            "text": (message.content or "") + (message.refusal or ""),
            "calls": calls,
            "stop": stop_of(words, choice.finish_reason),
            "usage": usage and counts(usage.prompt_tokens - cached - written, usage.completion_tokens, cached, written),
        }

    return whole, stream, view


def openai_responses(url):
    import openai

    client = openai.OpenAI(api_key="k", base_url=url, max_retries=0)
    asked = {"model": "m", "input": "a", "store": False}

    def whole():
        return client.responses.create(**asked)

    def stream():
        # The last event has the answer that ended it, whether complete or not.
        ends = ("response.completed", "response.incomplete", "response.failed")
        with client.responses.stream(**asked) as events:
            last = [event for event in events if event.type in ends]
        return last[-1].response

    def view(answer):
        def each(kind):
            return [item for item in answer.output if item.type == kind]

        parts = [part for item in each("message") for part in item.content]
        calls = [[item.call_id, item.name, arguments(item.arguments)] for item in each("function_call")]
        thoughts = [part.text for item in each("reasoning") for part in item.summary]
        usage = answer.usage
        details = usage and usage.input_tokens_details
        cached, written = (getattr(details, name, 0) or 0 for name in ("cached_tokens", "cache_write_tokens"))
        reason = answer.incomplete_details and answer.incomplete_details.reason
        words = {"completed": "end_turn", "max_output_tokens": "max_tokens", "content_filter": "refusal"}
        stop = stop_of(words, reason or answer.status)
        return {
            "text": "".join(getattr(part, "text", None) or getattr(part, "refusal", "") for part in parts),
            "reasoning": "".join(thoughts),
            "calls": calls,
            "stop": "tool_use" if calls and stop == "end_turn" else stop,
            "usage": usage and counts(usage.input_tokens - cached - written, usage.output_tokens, cached, written),
        }

    return whole, stream, view


def gemini(url):
    from google import genai

    client = genai.Client(api_key="k", http_options=genai.types.HttpOptions(base_url=url, timeout=10_000))
    request = {"model": "m", "contents": "a"}

    def whole():
        return [client.models.generate_content(**request)]

    def stream():
        return list(client.models.generate_content_stream(**request))

    def view(chunks):
        # The SDK has no answer that is put together, so the chunks are read one after the other.
        firsts = [first for chunk in chunks for first in chunk.candidates or [] if not first.index]
        parts = [part for first in firsts if first.content for part in first.content.parts or []]
        calls = [[part.function_call.id, part.function_call.name, arguments(part.function_call.args)]
                 for part in parts if part.function_call]
        reasons = [first.finish_reason for first in firsts if first.finish_reason]
        blocked = [chunk.prompt_feedback.block_reason for chunk in chunks
                   if chunk.prompt_feedback and chunk.prompt_feedback.block_reason]
        refused = ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"]
        words = {"STOP": "end_turn", **dict.fromkeys(refused, "refusal")}
        stop = stop_of(words, reasons[-1].value) if reasons else "refusal" if blocked else None
        usage = next((chunk.usage_metadata for chunk in reversed(chunks) if chunk.usage_metadata), None)
        cached = (usage and usage.cached_content_token_count) or 0
        # Thoughts and whatever only the total has count as output. What tools were asked for counts as input.
        asked = usage and usage.prompt_token_count and usage.prompt_token_count + (usage.tool_use_prompt_token_count or 0)
        output = asked and usage.total_token_count and usage.total_token_count - asked
        return {
            "text": "".join(part.text for part in parts if part.text and not part.thought),
            "reasoning": "".join(part.text for part in parts if part.text and part.thought),
            "calls": calls,
            "stop": "tool_use" if calls and stop == "end_turn" else stop.lower() if stop else None,
            "usage": usage and counts(asked and asked - cached, output, cached, 0),
        }

    return whole, stream, view


WIRES = [anthropic_messages, gemini, openai_chat, openai_responses]


def compare(kept, read, view):
    """The parts in which the SDK sees another answer than Rye, each with both values."""
    rye = kept["read"]
    try:
        sdk = view(read())
    except Exception as error:  # Whatever an SDK raises for an answer, it cannot read it.
        return {} if rye is None else {"outcome": [f"{type(error).__name__}: {error}"[:200], "read"]}
    if rye is None:
        return {"outcome": ["read", kept["refused"]]}
    # A call that cannot be run has the reason at its end. Rye writes each thought on a line of its own.
    rye = {**rye, "calls": [call[:3] for call in rye["calls"]], "reasoning": rye["reasoning"].replace("\n", "")}
    return {part: [sdk[part], rye[part]] for part in PARTS if part in sdk and sdk[part] != rye[part]}


def found(folder, url):
    """The differences of all answers, and the number of answers of each wire and form."""
    differences, judged = {}, collections.Counter()
    for wire in WIRES:
        whole, stream, view = wire(url)
        for path in sorted((pathlib.Path(folder) / wire.__name__).glob("*.json")):
            name, form = path.stem.rsplit(".", 1)
            kept = json.loads(path.read_text(encoding="utf-8"))
            is_whole = form == "whole"
            Vendor.kind = "application/json" if is_whole else "text/event-stream"
            Vendor.answer = (kept["sent"] if is_whole else served(kept["sent"])).encode()
            judged[wire.__name__, form] += 1
            for part, values in compare(kept, whole if is_whole else stream, view).items():
                differences[wire.__name__, form, part, name] = values
    return differences, judged


def listed(path):
    """The reason of each difference that is expected."""
    reasons = {}
    for entry in json.loads(path.read_text(encoding="utf-8")):
        for place, names in entry["answers"].items():
            wire, form, part = place.split()
            reasons.update({(wire, form, part, name): entry["why"] for name in names})
    return reasons


def serve():
    """Starts the server, and returns its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


# What the first answer of each table, in one piece, may not be read as.
SPOILT = [{"text": "Hello"}, {"calls": [["c", "n", {}]]}, {"stop": "max_tokens"}, {"usage": [7, 4, 0, 0]}, {"usage": None}]


def self_test(folder):
    """Checks that a part of an answer that is read in another way is noticed, and an answer that is refused."""
    url = serve()
    for wire in WIRES:
        kept = json.loads((pathlib.Path(folder) / wire.__name__ / "text.whole.json").read_text(encoding="utf-8"))
        Vendor.kind, Vendor.answer = "application/json", kept["sent"].encode()
        whole, _, view = wire(url)
        need(compare(kept, whole, view) == {}, f"{wire.__name__}: the first answer differs")
        for spoilt in SPOILT:
            wrong = {**kept, "read": {**kept["read"], **spoilt}}
            need(list(compare(wrong, whole, view)) == list(spoilt), f"{wire.__name__}: {spoilt} is not noticed")
        refused = {"read": None, "refused": "no"}
        need(list(compare(refused, whole, view)) == ["outcome"], f"{wire.__name__}: a refusal is not noticed")
    return 0


def need(condition, message):
    if not condition:
        raise SystemExit(message)


def main(folder):
    differences, judged = found(folder, serve())
    expected = listed(pathlib.Path(__file__).with_name("differences.json"))
    bad = [f"{' '.join(key)}: the SDK sees {sdk!r}, Rye {rye!r}"
           for key, (sdk, rye) in differences.items() if key not in expected]
    bad += [f"{' '.join(key)}: is listed as a difference and is none" for key in expected if key not in differences]
    for wire in WIRES:
        for form in FORMS:
            if judged[wire.__name__, form] < 30:
                bad.append(f"{wire.__name__} has {judged[wire.__name__, form]} answers of the form {form}")
    if bad:
        print("\n".join(bad))
        return 1
    print_table(differences, judged, expected)
    return 0


def print_table(differences, judged, expected):
    print(f"{'':<28}{'answers':>8}{'equal':>8}{'other':>8}")
    for (wire, form), answers in sorted(judged.items()):
        keys = {key[3] for key in differences if key[:2] == (wire, form)}
        print(f"{wire + ' ' + form:<28}{answers:>8}{answers - len(keys):>8}{len(keys):>8}")
    print("why the others are read in another way:")
    for why, count in collections.Counter(expected.values()).items():
        print(f"{count:>5}  {why}")


if __name__ == "__main__":
    sys.exit(self_test(sys.argv[2]) if sys.argv[1] == "--self-test" else main(sys.argv[1]))
