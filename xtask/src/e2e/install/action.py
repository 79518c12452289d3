"""Runs the scripts of `action.yml` as a runner does, over a repository with two commits and a server that answers as the API does.

Usage: action.py FOLDER PROGRAM DIST
"""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

folder, program, dist = (pathlib.Path(word).absolute() for word in sys.argv[1:])
scripts = pathlib.Path("packaging/action").absolute()
scratch = folder / "action"
shutil.rmtree(scratch, ignore_errors=True)
home = scratch / "home"
home.mkdir(parents=True)
temporary = scratch / "temporary"
temporary.mkdir()
TOKEN = "token-of-the-workflow"

base_environment = {
    "PATH": f"{program.parent}:{os.environ['PATH']}",
    "HOME": str(home),
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
}


def call(*words, at, environment=None, code=0):
    done = subprocess.run(
        [str(word) for word in words],
        cwd=at,
        env={**base_environment, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    if done.returncode != code:
        sys.exit(f"`{' '.join(map(str, words))}` exits with {done.returncode}, not {code}:\n{done.stdout}")
    return done.stdout


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{part!r} is not in\n{text}")


def refuse(text, *parts):
    for part in parts:
        if part in text:
            sys.exit(f"{part!r} is in\n{text}")


class Api(http.server.BaseHTTPRequestHandler):
    """Comments of one pull request."""

    comments = [{"id": 7, "user": {"type": "User"}, "body": "<!-- rye diff -->\nwritten by a person"}]
    calls = []
    may_write = True

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def take(self):
        self.calls.append((self.command, self.path, self.headers["Authorization"]))
        if not self.may_write and self.command != "GET":
            self.answer(403, {"message": "Resource not accessible by integration"})
            return None
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")

    def do_GET(self):
        self.take()
        self.answer(200, self.comments)

    def do_POST(self):
        if (value := self.take()) is not None:
            self.comments.append({"id": 8, "user": {"type": "Bot"}, **value})
            self.answer(201, {})

    def do_PATCH(self):
        if (value := self.take()) is not None:
            wanted = int(self.path.rsplit("/", 1)[1])
            next(comment for comment in self.comments if comment["id"] == wanted).update(value)
            self.answer(200, {})

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()

# A project whose directive asks for more in its second commit.
project = scratch / "project"
call(program, "init", project, "--new-key", at=scratch)
trust = call(program, "trust", "export", at=project)
call("git", "init", "--quiet", at=project)


def commit():
    call("git", "add", "--all", at=project)
    call("git", "commit", "--quiet", "--message", "state", at=project)
    return call("git", "rev-parse", "HEAD", at=project).strip()


call(program, "lock", at=project)
first = commit()
hello = project / ".ai" / "directives" / "project" / "hello.md"
text = hello.read_text()
wider = text.replace("<permissions>", "<permissions>\n      <execute><tool>rye.file-system.remove</tool></execute>", 1)
if wider == text:
    sys.exit("the directive has no permissions to add one to")
hello.write_text(wider.replace("one friendly sentence", "one ```` sentence"))
call(program, "sign", hello, at=project)
second = commit()

variables = {
    "RUNNER_TEMP": temporary,
    "RYE_PROJECT": ".",
    "RYE_TRUST": trust,
    "RYE_STRICT": "false",
    "RYE_LOCKED": "auto",
    "RYE_BASE": first,
    "RYE_PULL_REQUEST": "3",
    "RYE_TOKEN": TOKEN,
    "GITHUB_REPOSITORY": "owner/name",
    "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
    "GITHUB_OUTPUT": scratch / "output",
    "GITHUB_STEP_SUMMARY": scratch / "summary",
}
variables = {name: str(value) for name, value in variables.items()}


def check(code, **changed):
    return call(scripts / "check.sh", at=project, environment={**variables, **changed}, code=code)


def compare(code, **changed):
    for name in ["output", "summary"]:
        (scratch / name).write_text("")
    return call("python3", scripts / "compare.py", at=project, environment={**variables, **changed}, code=code)


def read(name):
    return (scratch / name).read_text()


# The installation, from the wheel in a folder.
path_file = scratch / "path"
pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(dist), "GITHUB_PATH": str(path_file), "RYE_VERSION": ""}
pip["GITHUB_ACTION_PATH"] = str(scripts.parent.parent)
expect(call(scripts / "install.sh", at=project, environment={**variables, **pip}), "rye ")
expect(path_file.read_text(), "rye-program/bin")

# The lock has the first state.
expect(check(1), "::error", "project/hello", ".ai/rye.lock")
expect(check(0, RYE_LOCKED="false"), "")
expect(check(2, RYE_LOCKED="yes"), "`locked` is `true`, `false` or `auto`, not `yes`")
expect(check(2, RYE_STRICT="1"), "`strict` is `true` or `false`, not `1`")

printed = compare(0)
expect(read("output"), "change=more\n")
expect(read("summary"), "may do more", "rye.file-system.remove")
# The fence is longer than the one in the prompt, so that nothing after that is rendered.
expect(Api.comments[-1]["body"], "<!-- rye diff -->", "rye.file-system.remove", "\n`````text\n", "one ```` sentence", "\n`````\n")
if len(Api.comments) != 2 or Api.calls[-1][:2] != ("POST", "/repos/owner/name/issues/3/comments"):
    sys.exit(f"no comment was written: {Api.calls}")
if {authorization for _, _, authorization in Api.calls} != {f"Bearer {TOKEN}"}:
    sys.exit(f"another token was sent: {Api.calls}")
refuse(printed + read("summary") + Api.comments[-1]["body"], TOKEN)

# A second run changes the comment of the first.
compare(0, RYE_BASE=second)
expect(read("output"), "change=none\n")
expect(Api.comments[-1]["body"], "No directive changed.")
if len(Api.comments) != 2 or Api.comments[0]["body"] != "<!-- rye diff -->\nwritten by a person":
    sys.exit(f"the wrong comment changed: {Api.comments}")

# A token that may only read leaves the summary.
Api.may_write = False
expect(compare(0), "::notice::the comment was not written (403")
expect(read("summary"), "rye.file-system.remove")
expect(compare(0, RYE_TRUST=""), "::notice::nothing was compared, because the input `trust` is empty")
expect(compare(1, RYE_BASE="0" * 40), "::error::the checkout has no commit of the base")
other = "\n".join(line if "public_key" not in line else 'public_key = "x"' for line in trust.splitlines())
expect(compare(1, RYE_TRUST=other), "::error::`rye diff --rev")
print("the scripts of the action check, compare and comment")
