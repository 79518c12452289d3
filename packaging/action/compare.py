"""Compares the directives with the base of a pull request, and writes the difference into a comment and the job's summary.

It needs Python 3.8 and nothing else. What a pull request says is in the difference, so that it is shown as text and never run or
rendered: it stands in a fence that is longer than every fence in it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request

MARK = "<!-- rye diff -->"
# A comment may have 65,536 characters.
MOST_CHARACTERS = 60_000
CHANGES = {0: "none", 1: "same", 2: "more"}
TITLES = {
    "none": "No directive changed.",
    "same": "Directives changed, and none of them may do more.",
    "more": "**Directives may do more than before.**",
}


def main() -> int:
    project = os.environ["RYE_PROJECT"]
    if not os.environ["RYE_TRUST"]:
        print("::notice::nothing was compared, because the input `trust` is empty: without it, no signature counts")
        return 0
    base = find_base(project)
    if base is None:
        print("::error::the checkout has no commit of the base; give `fetch-depth: 2` to `actions/checkout`")
        return 1
    compared = compare(project, base)
    change = CHANGES.get(compared.returncode)
    # An option that is not known exits with 2, too, and prints no difference.
    if change is None or (change != "none" and not compared.stdout):
        sys.stderr.write(compared.stderr)
        print(f"::error::`rye diff --rev {base}` could not compare the directives")
        return 1
    sys.stderr.write(compared.stderr)
    append("GITHUB_OUTPUT", f"change={change}\n")
    body = text(change, compared.stdout)
    append("GITHUB_STEP_SUMMARY", body)
    try:
        comment(body, change)
    except urllib.error.HTTPError as error:
        # The token of a pull request from a fork may only read.
        print(f"::notice::the comment was not written ({error.code} {error.reason}); the summary of the job has the same text")
    except urllib.error.URLError as error:
        print(f"::error::the comment was not written: {error.reason}")
        return 1
    return 0


def find_base(project: str):
    """Returns the commit to compare with: the base as the event names it, or the first parent of the merge that is checked out."""
    candidates = [os.environ["RYE_BASE"]]
    if is_commit(project, "HEAD^2"):
        candidates.append("HEAD^1")
    return next((commit for commit in candidates if is_commit(project, commit)), None)


def is_commit(project: str, name: str) -> bool:
    command = ["git", "-C", project, "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def compare(project: str, base: str):
    temporary = pathlib.Path(os.environ["RUNNER_TEMP"])
    home = temporary / "rye-home"
    home.mkdir(parents=True, exist_ok=True)
    trust = temporary / "rye-trust.toml"
    # The document is signed, and the page for variables changes the ends of its lines.
    trust.write_bytes((os.environ["RYE_TRUST"].replace("\r", "").rstrip("\n") + "\n").encode())
    command = ["rye", "diff", "--rev", base, "--exit-code", "--color", "never", "--project", project]
    command += ["--user-space", str(home), "--trust", str(trust)]
    # The program needs no token, so it is given none.
    environment = {name: value for name, value in os.environ.items() if name != "RYE_TOKEN"}
    return subprocess.run(
        command, capture_output=True, check=False, encoding="utf-8", errors="replace", env=environment
    )


def text(change: str, difference: str) -> str:
    body = f"{MARK}\n### `rye diff`\n\n{TITLES[change]}\n"
    if change == "none":
        return body
    left_out = ""
    if len(difference) > MOST_CHARACTERS:
        difference = difference[:MOST_CHARACTERS]
        left_out = f"\nThe difference goes on: only its first {MOST_CHARACTERS} characters are here. `rye diff` prints the whole.\n"
    longest = max((len(run) for run in re.findall("`+", difference)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{body}\n{fence}text\n{difference.rstrip()}\n{fence}\n{left_out}"


def append(variable: str, added: str) -> None:
    with open(os.environ[variable], "a", encoding="utf-8") as file:
        file.write(added)


def comment(body: str, change: str) -> None:
    """Writes the comment, or changes the one that an earlier run wrote."""
    repository = f"/repos/{os.environ['GITHUB_REPOSITORY']}"
    pull_request = f"{repository}/issues/{int(os.environ['RYE_PULL_REQUEST'])}/comments"
    earlier = find_comment(pull_request)
    if earlier is not None:
        call("PATCH", f"{repository}/issues/comments/{earlier}", {"body": body})
    elif change != "none":
        call("POST", pull_request, {"body": body})


def find_comment(pull_request: str):
    """Returns the id of the first comment of a program that begins with the mark. People may write the mark, too."""
    page = 1
    while True:
        comments = call("GET", f"{pull_request}?per_page=100&page={page}")
        for found in comments:
            if found["user"]["type"] == "Bot" and (found["body"] or "").startswith(MARK):
                return found["id"]
        if len(comments) < 100:
            return None
        page += 1


def call(method: str, path: str, value=None):
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {os.environ['RYE_TOKEN']}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    data = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(os.environ["GITHUB_API_URL"] + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
