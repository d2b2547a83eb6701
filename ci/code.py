#!/usr/bin/env python3
"""Prints the lines of Rust files that are code, with their indentation: no blank line, comment, documentation, test or model. A string is
`""`, on its last line. The files' names come from stdin, each ended by a zero byte."""

import re
import sys

# What a brace or a comment sign may stand in, and comments.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?<!\w)b?r(?P<hashes>\#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^\\'])'""", re.S
)
TEST = re.compile(r"\s*#\[cfg\((test|doctest|all\((test|brigade_loom|doctest))")
DOC = re.compile(r"^\s*#!?\[(doc\b|cfg_attr\([^\]]*\bdoc\s*=)[^\]]*\]", re.M)


def clean(token):
    return "\n" * token[0].count("\n") + ("" if token[0].startswith("/") else '""')


def end_of_item(lines, at):
    """The line after the item whose attributes begin at this line: its brackets are closed, and it ends with a brace, `;` or `,`."""
    inside, seen = 0, False
    while at < len(lines):
        line = lines[at].strip()
        at += 1
        if inside == 0 and not seen and (not line or line.startswith("#[")):
            continue
        inside += sum(map(line.count, "{([")) - sum(map(line.count, "})]"))
        seen = True
        if inside <= 0 and line.endswith(("}", ";", ",")):
            break
    return at


def code(text):
    lines = DOC.sub("", TOKEN.sub(clean, text)).split("\n")
    at = 0
    while at < len(lines):
        if TEST.match(lines[at]):
            at = end_of_item(lines, at)
            continue
        if lines[at].strip():
            yield lines[at]
        at += 1


for name in filter(None, sys.stdin.buffer.read().split(b"\0")):
    with open(name, encoding="utf8") as file:
        sys.stdout.writelines(line + "\n" for line in code(file.read()))
