#!/usr/bin/env python3
"""Plants faults in the scripts of the line, one after the other, and tells which tests find them.

  infra/plant_faults.py                three faults in each area, drawn by SEED=1
  infra/plant_faults.py pace lanes     in these areas
  FAULTS=10 SEED=7 infra/plant_faults.py

A fault is one operator, bound, constant or call of one line that is changed or removed. The random test of the model has
as many operations as it has in CI. What it does not find is shown to the suite of the line. Needs the test programs:
cargo test --workspace --no-run.
"""

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LUA = ROOT / "shared/line/lua"
AREAS = {
    "pace": ["include/pace.lua", "include/adaptive_pace.lua"],
    "capacity": ["tick/promote.lua", "visit/enter.lua", "operator/promote_entry.lua"],
    "order": ["include/chosen_entries.lua", "include/scores.lua", "include/arrivals.lua", "include/places.lua"],
    "lanes": ["include/lanes.lua", "operator/move_to_lane.lua"],
    "presence": ["include/presence.lua", "include/presence_tick.lua", "include/absences.lua", "presence/check_in.lua"],
    "missed turn": ["include/timeouts.lua", "recovery/adopt.lua", "include/end.lua"],
    "held slot": ["visit/leave.lua", "visit/validate.lua", "include/visits.lua"],
    "journal": ["include/journal.lua", "journal/acknowledge.lua", "journal/requeue_with_backoff.lua"],
    "opening": ["include/opening.lua", "include/entrance.lua", "include/scheduled_calls.lua"],
    "deletion": ["recovery/delete_queue.lua", "recovery/drop_queue.lua", "recovery/restore.lua"],
}
CHANGES = [
    (" >= ", " > "), (" <= ", " < "), (" > ", " >= "), (" < ", " <= "), (" == ", " ~= "), (" ~= ", " == "),
    (" + ", " - "), (" - ", " + "), (" and ", " or "), (" or ", " and "), ("math.min", "math.max"),
    ("math.max", "math.min"), ("not ", ""), (" 0", " 1"), (" 1", " 0"),
]


def faults_of(file):
    """All faults of a file: the line before and the line, and the same with the fault."""
    lines = (LUA / file).read_text().split("\n")
    for number, (before, line) in enumerate(zip(lines, lines[1:]), start=2):
        code = line.split("--")[0]
        if not code.strip() or code.strip().startswith(("local function", "end")):
            continue
        changed = [line.replace(old, new, 1) for old, new in CHANGES if old in code]
        if re.match(r"\s+redis\.call\(.*\)$", line):
            changed.append(line[: len(line) - len(line.lstrip())] + "do end")
        for faulty in changed:
            yield {"file": file, "line": number, "text": f"{before}\n{line}", "faulty": f"{before}\n{faulty}"}


def test_programs():
    command = "cargo test --workspace --locked --no-run --message-format json --test model --test line".split()
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    artifacts = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    return {a["target"]["name"]: a["executable"] for a in artifacts if a.get("executable")}


def finds(program, arguments, fault):
    """Whether a test fails with the fault, and the first line that says so."""
    environment = {**os.environ, "FAULT_IN_PLACE_OF": fault["text"], "FAULT": fault["faulty"],
                   "PROPTEST_MAX_SHRINK_ITERS": "0"}
    try:
        run = subprocess.run([program, *arguments], cwd=ROOT / "tests", env=environment, capture_output=True, text=True,
                             timeout=1800)
    except subprocess.TimeoutExpired:
        return True, "it does not end"
    said = re.search(r"(?:panicked at [^\n]*\n|^step )([^\n]*)", run.stdout + run.stderr, re.M)
    return run.returncode != 0, said.group(1)[-160:] if said else ""


def main():
    programs = test_programs()
    rng = random.Random(int(os.environ.get("SEED", "1")))
    survivors = []
    for area in sys.argv[1:] or AREAS:
        faults = [fault for file in AREAS[area] for fault in faults_of(file)]
        for fault in rng.sample(faults, int(os.environ.get("FAULTS", "3"))):
            began = time.time()
            by = "model"
            found, said = finds(programs["model"], ["--exact", "invariants_hold_on_the_embedded_server"], fault)
            if not found:
                by = "line"
                found, said = finds(programs["line"], ["embedded::"], fault)
            print(f"{area}: {fault['file']}:{fault['line']}: {fault['faulty'].splitlines()[1].strip()}")
            print(f"  {'found by ' + by if found else 'SURVIVES'} after {time.time() - began:.0f} s: {said}", flush=True)
            if not found:
                survivors.append(fault)
    print(f"{len(survivors)} survive")


if __name__ == "__main__":
    main()
