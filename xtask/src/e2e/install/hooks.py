"""Runs the hooks with pre-commit in a new repository, with the wheel from a folder and no registry.

Usage: hooks.py FOLDER PROGRAM DIST
"""

import os
import pathlib
import shutil
import subprocess
import sys

folder, program, dist = (pathlib.Path(word).absolute() for word in sys.argv[1:])
scratch = folder / "hooks"
shutil.rmtree(scratch, ignore_errors=True)
home = scratch / "home"
home.mkdir(parents=True)

environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "PRE_COMMIT_HOME": str(scratch / "pre-commit"),
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": str(dist),
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
}


def call(*words, at, fails=False):
    done = subprocess.run(
        [str(word) for word in words], cwd=at, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    if (done.returncode != 0) != fails:
        sys.exit(f"`{' '.join(map(str, words))}` exits with {done.returncode}:\n{done.stdout}")
    return done.stdout


def commit(at):
    call("git", "add", "--all", at=at)
    call("git", "commit", "--quiet", "--message", "state", at=at)


# The repository of the hooks has what pre-commit reads of this one.
hooks = scratch / "rye"
hooks.mkdir()
for name in [".pre-commit-hooks.yaml", "pyproject.toml"]:
    shutil.copy(name, hooks)
call("git", "init", "--quiet", at=hooks)
commit(hooks)
revision = call("git", "rev-parse", "HEAD", at=hooks).strip()

project = scratch / "project"
call(program, "init", project, "--new-key", at=scratch)
(project / ".pre-commit-config.yaml").write_text(
    f"repos:\n  - repo: {hooks}\n    rev: {revision}\n    hooks:\n      - id: rye-check\n      - id: rye-lock\n"
)
call(program, "lock", at=project)
call("git", "init", "--quiet", at=project)
commit(project)


def run(*hook, fails):
    call("git", "add", "--all", at=project)
    return call(sys.executable, "-m", "pre_commit", "run", "--all-files", *hook, at=project, fails=fails)


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{part!r} is not in\n{text}")


expect(run(fails=False), "rye check", "rye check --locked", "Passed")

bad = project / ".ai" / "directives" / "project" / "bad.md"
bad.write_text('# bad\n\n```xml\n<directive name="bad" version="1.0.0">\n  <metadata>\n</directive>\n```\n')
expect(run("rye-check", fails=True), "Failed", ".ai/directives/project/bad.md")
bad.unlink()
expect(run("rye-check", fails=False), "Passed")

# A signed change that is not in the lock.
hello = project / ".ai" / "directives" / "project" / "hello.md"
before = hello.read_text()
hello.write_text(before.replace("one friendly sentence", "one short sentence"))
if hello.read_text() == before:
    sys.exit("the directive has another text")
call(program, "sign", hello, at=project)
expect(run("rye-lock", fails=True), "Failed", "project/hello")
lock = project / ".ai" / "rye.lock"
call(program, "lock", at=project)
expect(run(fails=False), "Passed")
print("the hooks of pre-commit fail on what is wrong, name it, and pass without it")
