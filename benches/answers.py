#!/usr/bin/env python3
"""Time the answers: what a change reaches and does, and where a value comes from.

usage: answers.py KRM [MEASUREMENT...] [--runs 5]

Each measurement is a function below; without a name all of them run. Prints the best of the runs, and fails if a limit is
exceeded.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent


def workload(kind, count, folder):
    subprocess.run([sys.executable, HERE / "workload.py", kind, str(count), folder], check=True)


def best(runs, command, cwd):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def affected(krm, runs, folder):
    """What a change of a base reaches, of 500 targets: under 0.5 s."""
    workload("fleet", 500, folder)
    changed = next(p for p in sorted(folder.rglob("*.yaml")) if "kind: Deployment" in p.read_text())
    command = [krm, "affected", "--files", str(changed.relative_to(folder))]
    reached = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(reached) == 500, f"{len(reached)} targets are reached"
    taken = best(runs, command, folder)
    build = best(1, [krm, "build", *reached], folder)
    print(f"affected: 500 of 500 targets in {taken * 1000:.0f} ms (a build of all takes {build * 1000:.0f} ms)")
    return taken < 0.5


def explain(krm, runs, folder):
    """Where one field of 4,000 resources comes from: at most 3 times the build."""
    workload("overlay", 1000, folder)
    build = best(runs, [krm, "build", "top"], folder)
    name = subprocess.run([krm, "explain", "top"], cwd=folder, check=True, capture_output=True, text=True).stdout
    name = next(word for word in name.split() if word.startswith("Deployment/"))
    taken = best(runs, [krm, "explain", "top", name, "spec.replicas"], folder)
    print(f"explain: one field of 4,000 resources in {taken * 1000:.0f} ms, {taken / build:.1f} times the build ({build * 1000:.0f} ms)")
    return taken <= 3 * build


OVERLAY = """namePrefix: o{n}-
namespace: o{n}
resources:
- ../../base
labels:
- pairs:
    overlay: o{n}
"""

RESOURCE = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: app
        image: example.com/app-{n}:1.0.0
        envFrom:
        - configMapRef:
            name: settings
"""


def diff(krm, runs, folder):
    """What a change of a shared base does to 200 overlays of 20 resources each, between two revisions: under 1 s."""

    def git(*args):
        user = ["-c", "user.name=Bench", "-c", "user.email=bench@example.com"]
        subprocess.run(["git", *user, *args], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def write(path, text):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    overlays = [f"overlays/o{n:03}" for n in range(200)]
    names = "".join(f"- r{n}.yaml\n" for n in range(20))
    generator = "configMapGenerator:\n- name: settings\n  literals:\n  - GREETING="
    write("base/kustomization.yaml", f"resources:\n{names}{generator}hello\n")
    for n in range(20):
        write(f"base/r{n}.yaml", RESOURCE.format(n=n))
    for n, overlay in enumerate(overlays):
        write(f"{overlay}/kustomization.yaml", OVERLAY.format(n=n))
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    write("base/kustomization.yaml", f"resources:\n{names}{generator}welcome\n")
    git("commit", "--quiet", "--all", "--message", "second")
    build = best(runs, [krm, "build", *overlays], folder)
    taken = best(runs, [krm, "diff", "HEAD~1..HEAD"], folder)
    print(f"diff: 200 overlays in {taken * 1000:.0f} ms, {taken / build:.1f} times a build of all ({build * 1000:.0f} ms)")
    return taken < 1


MEASUREMENTS = [affected, diff, explain]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("krm")
    parser.add_argument("measurements", nargs="*", choices=[m.__name__ for m in MEASUREMENTS] + [[]])
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    krm = str(pathlib.Path(args.krm).resolve())
    failed = []
    for measure in MEASUREMENTS:
        if args.measurements and measure.__name__ not in args.measurements:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if not measure(krm, args.runs, pathlib.Path(folder)):
                failed.append(measure.__name__)
    if failed:
        sys.exit(f"too slow: {', '.join(failed)}")


if __name__ == "__main__":
    main()
