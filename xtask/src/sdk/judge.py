"""Checks request bodies with the types of the vendors' own SDKs. Called by `cargo xtask sdk`.

The SDKs describe requests as typed dictionaries and do not check them: unknown keys pass, and lists are read lazily.
Here each type is rebuilt so that unknown keys are refused and lists are read at once. The order of calls and results,
which no type describes, is checked separately.
"""

import collections.abc
import io
import json
import os
import pathlib
import sys
import types
import typing

import pydantic
import typing_extensions
from pydantic import ConfigDict, TypeAdapter, ValidationError


def strict(hint):
    """The same type with lists in place of iterables and without unknown keys."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if typing_extensions.is_typeddict(hint):
        return strict_dict(hint)
    if isinstance(hint, typing_extensions.TypeAliasType):
        return strict(hint.__value__)
    if origin in (collections.abc.Iterable, collections.abc.Sequence, list):
        return list[strict(arguments[0])] if arguments else list
    if origin in (typing.Union, types.UnionType):
        # The SDKs also accept answers as their own objects, which are not sent as such.
        kinds = [strict(argument) for argument in arguments if not is_object(argument)]
        return typing.Union[tuple(kinds)] if kinds else NOTHING
    if origin is typing.Annotated:
        # The annotations help to parse answers and do not constrain requests.
        return strict(arguments[0])
    if origin in (typing.Required, typing.NotRequired):
        return strict(arguments[0])
    if origin in (dict, collections.abc.Mapping) and arguments:
        return dict[arguments[0], strict(arguments[1])]
    return hint


# A value that no body has, for types that allow only objects.
NOTHING = typing.Literal["\0"]


def is_object(hint):
    return isinstance(hint, type) and issubclass(hint, (pydantic.BaseModel, os.PathLike, io.IOBase, bytes))


def strict_dict(cls):
    if cls in BUILDING:
        # A recursive type is checked only once.
        return dict
    if cls not in BUILT:
        BUILDING.add(cls)
        hints = typing_extensions.get_type_hints(cls, include_extras=True)
        members = {key: member(hint) for key, hint in hints.items()}
        BUILDING.discard(cls)
        BUILT[cls] = typing_extensions.TypedDict(f"Strict{cls.__name__}", members)
        BUILT[cls].__pydantic_config__ = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
    return BUILT[cls]


BUILT, BUILDING = {}, set()


def member(hint):
    # The SDKs mark required keys, but only in annotations that are still text when the class is made.
    required = typing.get_origin(hint) is typing.Required
    return (typing.Required if required else typing.NotRequired)[strict(hint)]


def anthropic_messages():
    from anthropic.types import message_create_params as params

    kinds = [params.MessageCreateParamsNonStreaming, params.MessageCreateParamsStreaming]
    return adapter(kinds), anthropic_order


def openai_chat():
    from openai.types.chat import completion_create_params as params

    kinds = [params.CompletionCreateParamsNonStreaming, params.CompletionCreateParamsStreaming]
    validate = adapter(kinds)
    return lambda body: validate(without_guests(body)), chat_order


# Members that compatible servers put into an answer and expect back, and that OpenAI's own types do not have.
GUESTS = {"extra", "extra_content", "reasoning_content"}


def without_guests(body):
    def own(value):
        return {key: member for key, member in value.items() if key not in GUESTS}

    messages = [own(message) for message in body["messages"]]
    for message in messages:
        if "tool_calls" in message:
            message["tool_calls"] = [own(call) for call in message["tool_calls"]]
    return {**body, "messages": messages}


def openai_responses():
    from openai.types.responses import response_create_params as params

    kinds = [params.ResponseCreateParamsNonStreaming, params.ResponseCreateParamsStreaming]
    return adapter(kinds), responses_order


def adapter(kinds):
    """The check for a body, by the type for whole answers or for streamed ones, as the body asks."""
    whole, streamed = (TypeAdapter(strict(kind)).validate_python for kind in kinds)
    return lambda body: (streamed if body.get("stream") else whole)(body)


def gemini():
    """The check for a body, by the SDK's own models, which refuse unknown keys."""
    from google.genai import types as genai

    class Body(pydantic.BaseModel):
        model_config = ConfigDict(
            extra="forbid", alias_generator=pydantic.alias_generators.to_camel, arbitrary_types_allowed=True
        )
        system_instruction: genai.Content | None = None
        tools: list[genai.Tool] | None = None
        generation_config: genai.GenerationConfig | None = None
        contents: list[genai.Content]

    return Body.model_validate, gemini_order


def need(condition, message):
    if not condition:
        raise ValueError(message)


def paired(calls, results):
    need(calls == results, f"the calls {calls} are answered by {results}")


def anthropic_order(body):
    waiting, last = [], None
    for message in body["messages"]:
        need(message["role"] != last, "two messages of one role follow each other")
        last = message["role"]
        blocks = message["content"] if isinstance(message["content"], list) else []
        kinds = [block["type"] for block in blocks]
        if last == "user":
            paired(waiting, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"])
            need(kinds == sorted(kinds, key=lambda kind: kind != "tool_result"), "a text stands before a result")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
    need(last == "user", "the last message is not the user's")
    tools_are_sorted([tool["name"] for tool in body.get("tools", [])])


def chat_order(body):
    waiting = []
    for message in body["messages"]:
        if message["role"] == "tool":
            need(waiting and waiting.pop(0) == message["tool_call_id"], "a result answers no call before it")
            continue
        need(not waiting, f"the calls {waiting} have no result")
        waiting = [call["id"] for call in message.get("tool_calls", [])]
    need(not waiting, f"the calls {waiting} have no result")
    tools_are_sorted([tool["function"]["name"] for tool in body.get("tools", [])])


def responses_order(body):
    calls, results, previous = [], [], None
    for item in body["input"]:
        kind = item.get("type", "message")
        from_user = kind == "function_call_output" or item.get("role") == "user"
        need(previous != "reasoning" or not from_user, "reasoning has nothing behind it")
        if results and kind != "function_call_output":
            paired(calls, results)
            calls, results = [], []
        if kind == "function_call":
            calls.append(item["call_id"])
        if kind == "function_call_output":
            results.append(item["call_id"])
        previous = kind
    need(previous != "reasoning", "reasoning has nothing behind it")
    paired(calls, results)
    tools_are_sorted([tool["name"] for tool in body.get("tools", [])])


def gemini_order(body):
    waiting, last = [], None
    for content in body["contents"]:
        need(content["role"] != last, "two contents of one role follow each other")
        last = content["role"]
        if last == "user":
            results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
            paired(waiting, [(result.get("id"), result["name"]) for result in results])
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        waiting = [(call.get("id"), call["name"]) for call in calls]
    need(last == "user", "the last content is not the user's")
    names = [tool["name"] for tools in body.get("tools", []) for tool in tools["functionDeclarations"]]
    tools_are_sorted(names)


def tools_are_sorted(names):
    need(names == sorted(names), f"the tools are not sorted: {names}")


WIRES = [anthropic_messages, gemini, openai_chat, openai_responses]


def faults(path, validate, order):
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        order(body)
        validate(body)
    except ValidationError as error:
        # Each alternative of a union reports an error; the deepest one is the relevant one.
        fault = max(error.errors(), key=lambda fault: len(fault["loc"]))
        return f"{path.parent.name}/{path.name}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    except (KeyError, ValueError) as error:
        return f"{path.parent.name}/{path.name}: {error!r}"
    return None


def main(folder):
    bad, judged = [], 0
    for wire in WIRES:
        bodies = sorted((pathlib.Path(folder) / wire.__name__).glob("*.json"))
        if len(bodies) < 30:
            bad.append(f"{wire.__name__} has {len(bodies)} bodies, so that hardly anything was judged")
        validate, order = wire()
        bad += filter(None, (faults(path, validate, order) for path in bodies))
        judged += len(bodies)
    print("\n".join(bad) if bad else f"{judged} bodies are what the vendors' own types describe")
    return 1 if bad else 0


# A valid body for each protocol, and changes that make it invalid, each of which must be noticed.
CALL = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
RIGHT = {
    "anthropic_messages": {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "a"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "a"}]}], "generationConfig": {"maxOutputTokens": 1}},
    "openai_chat": {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_completion_tokens": 1},
    "openai_responses": {"model": "m", "input": [{"role": "user", "content": "a"}], "store": False},
}
SPOILT = {
    "anthropic_messages": [
        {"unknown": 1},
        {"max_tokens": "1"},
        {"messages": [{"role": "wizard", "content": "a"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "unknown": 1}]}]},
        {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]},
        {"tools": [{"name": "n"}]},
    ],
    "gemini": [
        {"unknown": 1},
        {"generationConfig": {"maxOutputTokens": 1, "unknown": 1}},
        {"contents": [{"role": "user", "parts": [{"text": "a", "unknown": 1}]}]},
        {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "n", "response": {}}}]}]},
    ],
    "openai_chat": [
        {"unknown": 1},
        {"messages": [{"role": "wizard", "content": "a"}]},
        {"messages": [{"role": "user", "content": "a", "unknown": 1}]},
        {"messages": [{"role": "tool", "tool_call_id": "c", "content": "a"}]},
        {"tools": [{"type": "function", "name": "n"}]},
    ],
    "openai_responses": [
        {"unknown": 1},
        {"input": [CALL]},
        {"input": [{**CALL, "unknown": 1}, {"type": "function_call_output", "call_id": "c", "output": "a"}]},
        {"input": [{"type": "reasoning", "id": "r", "summary": []}]},
        {"tools": [{"type": "function", "name": "n", "parameters": {}}]},
    ],
}


def self_test():
    """Checks that valid bodies pass and that each invalid one is refused."""
    for wire in WIRES:
        name = wire.__name__
        validate, order = wire()
        validate(RIGHT[name])
        order(RIGHT[name])
        for spoilt in SPOILT[name]:
            body = {**RIGHT[name], **spoilt}
            try:
                order(body)
                validate(body)
            except (ValidationError, KeyError, ValueError):
                continue
            print(f"{name}: {json.dumps(spoilt)} is wrong and was not noticed")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else main(sys.argv[1]))
