#!/usr/bin/env python3
"""What CPython's `fnmatch.fnmatchcase` says about patterns and capabilities.

    python3 answers.py table   prints the table that lies beside this file as `answers.tsv`
    python3 answers.py serve   answers lines of `pattern<TAB>capability`, one line each, until the input ends

An answer is three fields: whether the pattern matches; whether the pattern without a final `.*` matches, or `-` where it
has none; and, in the table alone, whether the pattern is of the closed grammar (`closed`) or refused (`refused`).

Two spellings of capability patterns are no part of fnmatch, so that they are spelled out before it is asked: `/` is
written `.`, and `rye.fetch.` is asked as `rye.search.` and as `rye.load.`.
"""

import re
import sys
from fnmatch import fnmatchcase


def matches(pattern, subject):
    pattern = pattern.replace("/", ".")
    if pattern.startswith("rye.fetch."):
        rest = pattern[len("rye.fetch.") :]
        return any(matches(f"rye.{primary}.{rest}", subject) for primary in ("search", "load"))
    try:
        return fnmatchcase(subject, pattern)
    except re.error:
        # Before 3.10, a reversed range was no pattern; since then it matches nothing.
        return False


def answer(pattern, subject):
    stem = re.fullmatch(r"(.*)[./]\*+", pattern, re.DOTALL)
    word = {True: "matches", False: "misses"}
    return word[matches(pattern, subject)], word[matches(stem[1], subject)] if stem else "-"


# Each family: patterns over ids, and the ids that each of them is held against.
CLOSED = [
    (
        ["a.b", "a.*", "a*", "*", "a.b.*", "a.**", "*.b", "*b", "a.?", "a?b", "a[.]b", "a/b", "a/*", "a.b*", "?.b"],
        ["a", "b", "a.b", "a.bc", "ab", "a.", "a.b.c", "axb", "A.b"],
    ),
    (
        ["*a*", "*a*b", "a*b*", "a*b*c", "ab*ba", "*ab*ab*", "**a", "a**b", "*a*b*c*d*e*f*g*h"],
        ["a", "ab", "ba", "aba", "abba", "abab", "axbxc", "acb", "abcdefgh", "xaxbxcxdxexfxgxh", "abcdefhg"],
    ),
    (
        ["?", "??", "?*", "*?", "??*", "a?*", "?a?", "*?.*", "?.*", "?[ab]", "[ab]?"],
        ["a", "ab", "a.b", "bab", "a-", "_a_", "a.b.c"],
    ),
    (
        ["[abc]", "[!abc]", "[a-c]", "[!a-c]", "[A-C]", "[0-9]", "[a-cx-z0]", "[a]", "[!a]", "[a-a]", "[_]", "[!_]"],
        ["a", "b", "c", "d", "B", "0", "5", "_", "x", "ab"],
    ),
    (
        ["x[-a]", "x[a-]", "x[-]", "x[!-]", "x[--]", "x[a-c-]", "x[-a-c]", "x[!a-]", "x[.-]", "x[-.]", "x[!.]", "x[!.-]"],
        ["xa", "x-", "x.", "xb", "x_", "xd", "x"],
    ),
    (
        ["[ab][ab]", "[ab]*", "*[ab]", "*[!ab]", "[!.]*", "*[!.]", "[ab].*", "[a-b]*[0-9]", "*[a-z].[a-z]*", "[!a]*[!a]"],
        ["a", "ab", "ba", "a.b", "b7", "a.", "xa", "c", "a.b.0", "abc"],
    ),
    (
        ["file-system.*", "file-system.read", "file-*.read", "*.read", "file?system.*", "file[_-]system.r[a-f]ad"],
        ["file-system.read", "file-system", "file_system.read", "file-system.reader", "file-system.a.read", "read"],
    ),
]

# Whole patterns, over the parts that a capability begins with.
WHOLE = (
    [
        "*", "rye.*", "rye.**", "rye/*", "rye", "rye.execute.*", "rye.*.tool.*", "rye.*.tool.x", "rye.[ls]*.x",
        "rye.[!e]*", "*.x", "*.*.*.*", "*.*.*.*.*", "*.*.*.*.x", "rye.???????.tool.x", "rye.s*", "rye.fetch.*",
        "rye.fetch.tool.*", "rye.fetch.tool.x", "rye.f*", "rye.fetch.*.?", "RYE.*", "rye.run.*", "rye.load.tool.x.*",
    ],
    [
        "rye.execute.tool.x", "rye.search.tool.x", "rye.load.tool.x", "rye.sign.directive.x", "rye.load.knowledge.a.x",
        "rye.load.tool.x.y",
    ],
)

# What the closed grammar refuses, with subjects on which matchers disagree or which a reader may expect to match.
REFUSED = [
    ("rye.load.tool.[^a]", ["rye.load.tool.a", "rye.load.tool.b"]),
    ("rye.load.tool.[a^]", ["rye.load.tool.a", "rye.load.tool.b"]),
    ("rye.load.tool.[a!]", ["rye.load.tool.a", "rye.load.tool.b"]),
    ("rye.load.tool.[", ["rye.load.tool.a"]),
    ("rye.load.tool.[ab", ["rye.load.tool.a", "rye.load.tool.ab"]),
    ("rye.load.tool.a]", ["rye.load.tool.a"]),
    ("rye.load.tool.[]", ["rye.load.tool.a"]),
    ("rye.load.tool.[]a]", ["rye.load.tool.a"]),
    ("rye.load.tool.[!]", ["rye.load.tool.a"]),
    ("rye.load.tool.[!]a]", ["rye.load.tool.a", "rye.load.tool.b"]),
    ("rye.load.tool.[c-a]", ["rye.load.tool.a", "rye.load.tool.b"]),
    ("rye.load.tool.[A-z]", ["rye.load.tool._", "rye.load.tool.a"]),
    ("rye.load.tool.[0-z]", ["rye.load.tool.A"]),
    ("rye.load.tool.[.-9]", ["rye.load.tool.a.", "rye.load.tool.5"]),
    ("rye.load.tool.[a-c-e]", ["rye.load.tool.d", "rye.load.tool.e"]),
    ("rye.load.tool.[[:alpha:]]", ["rye.load.tool.a"]),
    ("rye.load.tool.[a/]", ["rye.load.tool.a"]),
    ("rye.load.tool.[*]", ["rye.load.tool.a"]),
    ("rye.load.tool.{a,b}", ["rye.load.tool.a", "rye.load.tool.b"]),
    ("rye.load.tool.a|b", ["rye.load.tool.a"]),
    ("rye.load.tool.(a)", ["rye.load.tool.a"]),
    ("rye.load.tool.\\a", ["rye.load.tool.a"]),
    ("rye.load.tool.\\*", ["rye.load.tool.a"]),
    ("rye.load.tool.a$", ["rye.load.tool.a"]),
    ("rye.load.tool.a+", ["rye.load.tool.aa"]),
    ("!rye.load.tool.a", ["rye.load.tool.a", "rye.load.tool.b"]),
    ("^rye.load.tool.a", ["rye.load.tool.a"]),
    ("rye.load.tool.a ", ["rye.load.tool.a"]),
    ("rye.load.tool.a b", ["rye.load.tool.a"]),
    ("rye.load.tool.\u00e4*", ["rye.load.tool.a"]),
    ("rye.load.tool.*a*a*a*a*a*a*a*a*a", ["rye.load.tool.aaaaaaaaa"]),
    ("", ["rye.load.tool.a"]),
]


def rows():
    for patterns, ids in CLOSED:
        for pattern in patterns:
            for item in ids:
                yield f"rye.load.tool.{pattern}", f"rye.load.tool.{item}", "closed"
    for pattern in WHOLE[0]:
        for subject in WHOLE[1]:
            yield pattern, subject, "closed"
    for pattern, subjects in REFUSED:
        for subject in subjects:
            yield pattern, subject, "refused"


def table():
    print("# Written by `answers.py table`: pattern, capability, CPython's answer, its answer without a final `.*`, grammar.")
    for pattern, subject, grammar in rows():
        print(pattern, subject, *answer(pattern, subject), grammar, sep="\t")


def serve():
    for line in sys.stdin:
        pattern, subject = line.rstrip("\n").split("\t")
        print(*answer(pattern, subject), sep="\t", flush=True)


if __name__ == "__main__":
    # The bytes do not depend on the language settings of the machine.
    sys.stdin.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    {"table": table, "serve": serve}[sys.argv[1] if len(sys.argv) == 2 else "table"]()
