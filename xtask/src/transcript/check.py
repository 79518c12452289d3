"""Compares the reader of `examples/read-transcript` with `rye` on the same threads. Called by `cargo xtask transcript`.

usage: check.py FOLDER, which holds one folder for each project: its threads, and `tree.json` of `rye threads tree --json`
"""
import contextlib
import io
import json
import pathlib
import random
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples/read-transcript"))
import read_transcript as reader  # noqa: E402

PLACES = 60
EXPECTED = {"approved", "children", "continued", "killed-1", "killed-2", "killed-3"}


def cost(folder):
    with contextlib.redirect_stdout(io.StringIO()):
        return reader.cost_of_tree(folder, {})


def is_refused(folder):
    try:
        cost(folder)
    except (reader.Refused, KeyError, TypeError, ValueError, OSError):
        return True
    return False


def changes(transcript, random_numbers):
    """The transcript with one bit changed, one line left out, or cut at the end of a line."""
    for _ in range(PLACES):
        changed = bytearray(transcript)
        place = random_numbers.randrange(len(changed))
        changed[place] ^= 1 << random_numbers.randrange(8)
        yield f"a bit of byte {place}", bytes(changed)
    lines = transcript.splitlines(keepends=True)
    for number in range(len(lines)):
        yield f"without line {number}", b"".join(lines[:number] + lines[number + 1:])
        yield f"cut before line {number}", b"".join(lines[:number])


def accepted_changes(folder, random_numbers):
    """The changes of a finished thread that the reader wrongly accepts."""
    with tempfile.TemporaryDirectory() as scratch:
        threads = pathlib.Path(scratch, "threads")
        shutil.copytree(folder.parent, threads)
        path = threads / folder.name / "transcript.jsonl"
        for name, changed in changes(path.read_bytes(), random_numbers):
            path.write_bytes(changed)
            if not is_refused(path.parent):
                yield name


def expected_cost(project, totals, thread):
    """The cost by `rye threads tree` of the thread and of its successors, which it lists as separate trees."""
    following = reader.Transcript(project / thread, {}).of("thread_continued")
    return totals[thread] + sum(expected_cost(project, totals, it["next"]) for it in following)


def check(project, random_numbers):
    failures = []
    trees = json.loads((project / "tree.json").read_text())["threads"]
    totals = {tree["thread"]: tree["total_nanos"] for tree in trees}
    for thread in totals:
        folder, expected = project / thread, expected_cost(project, totals, thread)
        if cost(folder) != expected:
            failures.append(f"{folder}: {cost(folder)} nanos, and `rye` says {expected}")
        failures += [f"{folder}: accepted with {name}" for name in accepted_changes(folder, random_numbers)]
    print(f"{project.name}: {len(trees)} trees, {sum(totals.values())} nanos")
    return failures


def main():
    projects = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    missing = EXPECTED - {project.name for project in projects}
    failures = [f"no test exported `{name}`" for name in sorted(missing)]
    for project in projects:
        failures += check(project, random.Random(project.name))
    print("\n".join(failures) or "the reader agrees")
    sys.exit(bool(failures))


main()
