#!/usr/bin/env python3
"""Reads what nextest wrote of a run, and prints each suite that took more than twice its usual time, and each test that was
tried once more.

    infra/suite_times.py NAME JUNIT DURATIONS            reads
    infra/suite_times.py NAME JUNIT DURATIONS --record   writes the times of this run into DURATIONS

NAME is that of the run: test, slice-1 and so on. DURATIONS is infra/durations.txt, with lines `NAME, suite, seconds` and tabs
between. The time of a suite is the sum of its tests'. Of the suite `scripted`, each test is a suite of its own.
"""

import sys
import xml.etree.ElementTree as ET

FACTOR = 2
LEAST_SECONDS = 20  # A busy machine doubles a short time by itself.


def read_run(path):
    """The seconds of each suite, and the names of the tests that passed only the second time."""
    seconds, retried = {}, []
    for suite in ET.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            name, test = suite.get("name"), case.get("name")
            if case.find("flakyFailure") is not None:
                retried.append(f"{name} {test}")
            if name.endswith("::scripted"):
                name = f"{name} {test}"
            seconds[name] = seconds.get(name, 0) + float(case.get("time", 0))
    return seconds, retried


def main(run, junit, durations, *options):
    seconds, retried = read_run(junit)
    with open(durations, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    usual = {row[1]: float(row[2]) for row in rows if row[0] == run}
    if options == ("--record",):
        rows = [row for row in rows if row[0] != run or "vestibule-" not in row[1]]
        rows += [[run, name, f"{time:.0f}"] for name, time in sorted(seconds.items()) if time >= LEAST_SECONDS]
        with open(durations, "w", encoding="utf-8") as file:
            file.writelines("\t".join(row) + "\n" for row in rows)
        return
    for name, time in sorted(seconds.items()):
        if time > LEAST_SECONDS and time > FACTOR * usual.get(name, LEAST_SECONDS):
            print(f"slow: {name} took {time:.0f} s, usually {usual.get(name, LEAST_SECONDS):.0f}")
    for name in retried:
        print(f"retried: {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
