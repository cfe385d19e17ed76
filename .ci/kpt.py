#!/usr/bin/env python3
"""Run the cases of kpt and compare the misses with what is known.

usage: kpt.py BINARY CASES

A miss is allowed if tests/differs/kpt/<case>/why.md gives the reason, or if tests/differs/kpt/open.txt lists it as not done yet. What is
listed and holds is stale, and fails too: the lists only ever get shorter.
"""
import os
import re
import subprocess
import sys

binary, cases = sys.argv[1:3]
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "differs", "kpt")
decided = {case for case in os.listdir(here) if os.path.exists(os.path.join(here, case, "why.md"))}
with open(os.path.join(here, "open.txt")) as f:
    undone = {line.strip() for line in f if line.strip() and not line.startswith("#")}
if decided & undone:
    sys.exit(f"decided and open at once: {', '.join(sorted(decided & undone))}")

run = subprocess.run([sys.executable, os.path.join(cases, "run.py"), binary, "-v"], capture_output=True, text=True)
print(run.stdout, end="")
missed = set(re.findall(r"^   ([a-z-]+\.[A-Za-z0-9.-]+): ", run.stdout, re.M))
if not re.search(r"^\d+ passed, \d+ failed", run.stdout, re.M):
    sys.exit("the cases did not run:\n" + run.stderr)

known = decided | undone
for case in sorted(missed - known):
    print(f"regression: {case} does not hold, and nothing says why")
for case in sorted(known - missed):
    print(f"stale: {case} holds, but tests/differs/kpt lists it")
print(f"decided differences: {len(decided)}; open: {len(undone)}")
sys.exit(bool(missed ^ known))
