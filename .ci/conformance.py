#!/usr/bin/env python3
"""Run the reference's cases and compare the misses with tests/differs.

usage: conformance.py BINARY CASES

A miss is allowed only where tests/differs/<group>/<case>/why.md gives the reason; a folder there whose case holds is stale and
fails too.
"""
import os
import re
import subprocess
import sys

binary, cases = sys.argv[1:3]
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "differs")
decided = {
    f"{group}/{case}"
    for group in os.listdir(here)
    # Those of kpt run by themselves: see kpt.py.
    if os.path.isdir(os.path.join(here, group)) and group != "kpt"
    for case in os.listdir(os.path.join(here, group))
    if os.path.exists(os.path.join(here, group, case, "why.md"))
}

run = subprocess.run([sys.executable, os.path.join(cases, "run.py"), binary, "-v"], capture_output=True, text=True)
print(run.stdout, end="")
missed = set(re.findall(r"^   (\w+/[^:]+):", run.stdout, re.M))
if not re.search(r"^\d+ passed, \d+ failed$", run.stdout, re.M):
    sys.exit("the reference cases did not run:\n" + run.stderr)

for case in sorted(missed - decided):
    print(f"regression: {case} does not hold, and tests/differs has no reason for it")
for case in sorted(decided - missed):
    print(f"stale: {case} holds, but tests/differs says it differs")
print(f"decided differences: {len(decided)}")
sys.exit(bool(missed ^ decided))
