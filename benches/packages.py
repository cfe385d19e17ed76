#!/usr/bin/env python3
"""Time packages with a Kptfile: a render of many, the same from the cache, and an update.

usage: packages.py KRM [--packages 200] [--resources 20] [--runs 5]

Prints the best of the runs. If `kpt` is on the PATH, it does the same beside krm.
"""
import argparse
import os
import shutil
import subprocess
import tempfile
import time

RESOURCE = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n}
spec:
  replicas: {replicas} # as many as it takes
  template:
    spec:
      containers:
      - name: app
        image: app:{n}
"""


def kptfile(name, pipeline=""):
    return f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n{pipeline}"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def packages(root, count, resources, replicas=3):
    identity = "pipeline:\n  mutators:\n    - exec: cat\n"
    write(f"{root}/Kptfile", kptfile("root"))
    for p in range(count):
        write(f"{root}/p{p:03}/Kptfile", kptfile(f"p{p:03}", identity))
        for r in range(resources):
            write(f"{root}/p{p:03}/r{r:02}.yaml", RESOURCE.format(n=f"{p}-{r}", replicas=replicas))


def best(runs, prepare, command, cwd):
    times = []
    for _ in range(runs):
        prepare()
        start = time.perf_counter()
        subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("krm")
    parser.add_argument("--packages", type=int, default=200)
    parser.add_argument("--resources", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    programs = {"krm": os.path.abspath(args.krm)}
    if shutil.which("kpt"):
        programs["kpt"] = shutil.which("kpt")
    with tempfile.TemporaryDirectory() as tmp:
        os.environ["HOME"] = tmp
        fresh, work, up = f"{tmp}/fresh", f"{tmp}/work", f"{tmp}/up"
        packages(fresh, args.packages, args.resources)

        def copy():
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(fresh, work)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", up]
        os.makedirs(up)
        subprocess.run([*git, "init", "-q"], check=True)
        for version, replicas in (("v1", 3), ("v2", 4)):
            packages(f"{up}/app", args.packages, args.resources, replicas)
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-q", "-m", version], check=True)
            subprocess.run([*git, "tag", version], check=True)
        for name, program in programs.items():
            render = [program, "fn", "render", "work", "--allow-exec"]
            print(f"{name} render: {best(args.runs, copy, render, tmp):.3f} s")
            if name == "krm":
                cached = [*render, "--cache=all"]
                best(1, copy, cached, tmp)
                print(f"{name} render, all steps cached: {best(args.runs, copy, cached, tmp):.3f} s")

            def get():
                shutil.rmtree(f"{tmp}/got", ignore_errors=True)
                subprocess.run([program, "pkg", "get", f"file://{up}.git/app@v1", "got"], cwd=tmp, check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            print(f"{name} update: {best(args.runs, get, [program, 'pkg', 'update', 'got@v2'], tmp):.3f} s")


main()
