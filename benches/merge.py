#!/usr/bin/env python3
"""Time the merges of folders.

usage: merge.py [--krm BINARY]

Merges a folder of 4,000 resources into another one, each resource in a file of its own, two ways and three ways. Either is
to take less than half a second of processor time, and 16,000 resources at most 4.4 times as much as 4,000. Every number is the
least of several runs, in processor time, so that a busy machine does not matter. The exit status says whether all bounds held.
"""
import argparse
import os
import pathlib
import sys
import tempfile

from measure import processor_time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATE = """# Deployment number {i}.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{i}
  namespace: shop
  labels:
    app: web-{i}
spec:
  replicas: {replicas} # as many as there are zones
  selector:
    matchLabels:
      app: web-{i}
  template:
    metadata:
      labels:
        app: web-{i}
    spec:
      containers:
      - name: web
        image: example.com/web:{tag}
        ports:
        - containerPort: 8080
"""


def folder(path, count, replicas, tag):
    for i in range(count):
        place = path / f"part-{i // 500}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"web-{i}.yaml").write_text(TEMPLATE.format(i=i, replicas=replicas, tag=tag))


def measure(krm, count):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        original, updated, dest = (scratch / name for name in ("original", "updated", "dest"))
        folder(original, count, 1, "1.0")
        folder(updated, count, 1, "2.0")
        folder(dest, count, 3, "1.0")
        two = processor_time([krm, "merge", updated, dest])
        three = processor_time([krm, "merge3", "--original", original, "--updated", updated, "--dest", dest])
        return two, three


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--krm", default=os.fspath(ROOT / "target/release/krm"))
    krm = os.path.abspath(parser.parse_args().krm)
    good = True
    small, large = measure(krm, 4000), measure(krm, 16000)
    for name, less, more in zip(("merge", "merge3"), small, large):
        held = less < 0.5 and more <= 4.4 * less
        good &= held
        verdict = "" if held else "  TOO SLOW"
        print(f"{name:7} 4,000: {less:.3f} s   16,000: {more:.3f} s   {more / less:.2f} times{verdict}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
