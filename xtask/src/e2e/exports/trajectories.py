"""Validates trajectories with the package atif, and checks that together they hold all that threads have.

Usage: trajectories.py FOLDER, where FOLDER holds *.atif.json
"""

import json
import pathlib
import sys

from atif import Trajectory

paths = sorted(pathlib.Path(sys.argv[1]).glob("*.atif.json"))
assert len(paths) >= 10, f"only {len(paths)} trajectories"
seen: set[str] = set()


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

wanted = {"tools", "children", "errors", "failures", "reasoning", "source agent", "source system", "source user"}
wanted |= {f"protocol {name}" for name in ("anthropic_messages", "gemini", "openai_chat", "openai_responses")}
assert wanted <= seen, f"missing {sorted(wanted - seen)} of {sorted(seen)}"
print(f"{len(paths)} trajectories are valid: {', '.join(sorted(wanted))}")
