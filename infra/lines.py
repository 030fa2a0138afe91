#!/usr/bin/env python3
"""Counts the lines of the repository, with comments, and the words of its pages.

    infra/lines.py           counts the files that git knows
    infra/lines.py COMMIT    also those of an earlier commit, and the difference

A unit test is a test, wherever its file is. What is generated or locked does not count.
"""

import subprocess
import sys

UNCOUNTED = ("/dist/", "/build/", "package-lock.json", "infra/python/", "docs/openapi.json", "Cargo.lock", "infra/durations.txt")
TEST_FOLDERS = ("tests/", "web/client/tests/", "web/page/tests/", "web/operate/tests/")
PARTS = ["shared, functions, tools", "web", "infra", "tests", "docs, in words"]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


def is_unit_test(path):
    """Whether a file of Rust is a module of tests: `tests.rs`, or within a folder `tests`."""
    return path.endswith("/tests.rs") or "/tests/" in path


def count_rust(text):
    """The lines before and within the module of tests that a file ends with."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line == "#[cfg(test)]" and lines[at + 1].startswith("mod ") and lines[at + 1].endswith("{"):
            return at, len(lines) - at
    return len(lines), 0


def classify(path, text):
    """The counts of a file, by the number of the part."""
    lines = text.count("\n")
    if path.endswith(".md"):
        return {4: len(text.split())}
    if path.startswith(TEST_FOLDERS):
        return {3: lines}
    if path.endswith(".rs") and is_unit_test(path):
        return {3: lines}
    if path.endswith(".rs"):
        product, tests = count_rust(text)
        return {0: product, 3: tests}
    if path.endswith(".lua"):
        return {0: lines}
    if path.startswith("web/") and path.endswith((".ts", ".mjs", ".css", ".html", ".json")):
        return {1: lines}
    if path == "template.yaml" or (path.startswith(("infra/", ".ci/")) and path.endswith((".sh", ".py", ".yaml", "/run"))):
        return {2: lines}
    return {}


def count(commit):
    """The sums of the parts at a commit, or in the working tree."""
    names = run("git", "ls-tree", "-r", "--name-only", commit) if commit else run("git", "ls-files")
    sums = [0] * len(PARTS)
    for path in names.decode().splitlines():
        if any(part in path for part in UNCOUNTED):
            continue
        if not path.endswith((".rs", ".lua", ".md", ".ts", ".mjs", ".css", ".html", ".json", ".sh", ".py", ".yaml", "/run")):
            continue
        try:
            text = run("git", "show", f"{commit}:{path}") if commit else open(path, "rb").read()
            counts = classify(path, text.decode())
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            continue
        for part, lines in counts.items():
            sums[part] += lines
    return sums


def main(commit=None):
    now = count(None)
    before = count(commit) if commit else None
    for at, name in enumerate(PARTS):
        line = f"{name:<26}{now[at]:>9,}"
        if before:
            line += f"{before[at]:>11,}{now[at] - before[at]:>+10,}"
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
