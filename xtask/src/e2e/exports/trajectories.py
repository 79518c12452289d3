"""Validates trajectories with the package atif, and checks that together they hold all that threads have.

Usage: trajectories.py FOLDER, where FOLDER holds *.atif.json
"""

import json
import pathlib
import sys

from atif import Trajectory

paths = sorted(pathlib.Path(sys.argv[1]).glob("*.atif.json"))
seen: set[str] = set()
shapes: dict[tuple, str] = {}


def shape(trajectory: Trajectory) -> tuple:
    """What makes a thread another one: its directive, protocol, sources, calls, errors, children and end. Texts, ids and times do not."""
    steps = tuple(
        (
            step.source,
            bool(step.reasoning_content),
            tuple(call.function_name for call in step.tool_calls or []),
            tuple(bool((result.extra or {}).get("is_error")) for result in (step.observation.results if step.observation else [])),
        )
        for step in trajectory.steps
    )
    children = tuple(shape(child) for child in trajectory.subagent_trajectories or [])
    extra = trajectory.extra
    return extra["directive"], trajectory.agent.extra["provider"], steps, children, extra["state"], json.dumps(extra["failure"], sort_keys=True)


def look(trajectory: Trajectory) -> None:
    """Notes what a trajectory holds, and checks what the package leaves open."""
    seen.add(f"protocol {trajectory.agent.extra['provider']}")
    inside = {child.trajectory_id for child in trajectory.subagent_trajectories or []}
    for step in trajectory.steps:
        seen.add(f"source {step.source}")
        if step.reasoning_content:
            seen.add("reasoning")
        if step.tool_calls:
            seen.add("tools")
        for result in step.observation.results if step.observation else []:
            assert result.source_call_id in {call.tool_call_id for call in step.tool_calls}, step
            if (result.extra or {}).get("is_error"):
                seen.add("errors")
            for reference in result.subagent_trajectory_ref or []:
                assert reference.trajectory_id in inside, reference
                seen.add("children")
    prompt = sum(step.metrics.prompt_tokens for step in trajectory.steps if step.metrics)
    assert prompt == trajectory.final_metrics.total_prompt_tokens, trajectory.trajectory_id
    if trajectory.extra["failure"]:
        seen.add("failures")
    for child in trajectory.subagent_trajectories or []:
        look(child)


for path in paths:
    text = path.read_text()
    trajectory = Trajectory.model_validate(json.loads(text))
    assert trajectory.schema_version == "ATIF-v1.8"
    assert trajectory.to_json_dict(), path
    look(trajectory)
    shapes.setdefault(shape(trajectory), path.name)

assert len(shapes) >= 10, f"only {len(shapes)} different threads: {sorted(shapes.values())}"
wanted = {"tools", "children", "errors", "failures", "reasoning", "source agent", "source system", "source user"}
wanted |= {f"protocol {name}" for name in ("anthropic_messages", "gemini", "openai_chat", "openai_responses")}
assert wanted <= seen, f"missing {sorted(wanted - seen)} of {sorted(seen)}"
print(f"{len(paths)} trajectories of {len(shapes)} different threads are valid: {', '.join(sorted(wanted))}")
