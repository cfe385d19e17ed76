#!/usr/bin/env python3
"""Time what functions cost beyond themselves.

usage: functions.py [--krm BINARY] [--module FILE]

  copy    `fn run` with an executable that copies 10,000 resources, against one parse-and-emit of the same bytes and two
          process starts: at most 3 times as much
  wasm    one more call of a module on 100 resources: under 30 ms. Modules are interpreted: compiled they would take a fifth
          of that, after a second or more for the first call. The module is `set-size` of `examples/functions`, built
          here for wasm32-wasip1 unless a file is given
  cached  the same call answered from the cache: under 1 ms

Every number is the least of several runs, in processor time, so that a busy machine does not matter. The exit status says whether
all bounds held.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from measure import processor_time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def resources(count):
    one = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{i}
  namespace: shop
  labels:
    app.kubernetes.io/name: web-{i}
    app.kubernetes.io/part-of: shop
spec:
  replicas: 3 # as many as there are zones
  selector:
    matchLabels:
      app.kubernetes.io/name: web-{i}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web-{i}
    spec:
      containers:
      - name: web
        image: registry.example.com/shop/web:1.{i}
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LOG_LEVEL
          value: info
        resources:
          limits:
            cpu: 500m
            memory: 256Mi
"""
    return "---\n".join(one.format(i=i) for i in range(count))


def best(command, **options):
    """Milliseconds of processor time."""
    return processor_time(command, **options) * 1000


def module():
    """Builds the module to be measured."""
    build = ["cargo", "build", "--quiet", "--release", "-p", "krm-example-functions", "--bin", "set-size",
             "--target", "wasm32-wasip1", "--target-dir", "target/modules"]
    if subprocess.run(build, cwd=ROOT).returncode != 0:
        sys.exit("without Rust's target `wasm32-wasip1` there is no module: rustup target add wasm32-wasip1")
    return ROOT / "target/modules/wasm32-wasip1/release/set-size.wasm"


def declare(folder, spec, count):
    """A folder that declares the same function so many times."""
    folder.mkdir()
    for i in range(count):
        (folder / f"{i:03}.yaml").write_text(
            f"apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: fn-{i}\n  annotations:\n"
            f"    config.kubernetes.io/function: |\n      {spec}\nspec:\n  default: small\n")
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--krm", default=str(ROOT / "target/release/krm"))
    parser.add_argument("--module", type=pathlib.Path)
    args = parser.parse_args()
    krm = str(pathlib.Path(args.krm).resolve())
    if not os.access(krm, os.X_OK):
        sys.exit(f"there is no {krm}: cargo build --release")
    wasm = f"wasm: {{path: {(args.module or module()).resolve()}}}"
    held = True

    def show(name, value, bound, unit):
        nonlocal held
        held &= value <= bound
        print(f"{name:8} {value:8.2f} {unit:5} (bound {bound:g}){'' if value <= bound else '  EXCEEDED'}")

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        env = dict(os.environ, XDG_CACHE_HOME=str(scratch / "cache"))
        many = scratch / "many.yaml"
        many.write_text(resources(10_000))
        start = best([krm, "version"])
        once = best([krm, "fn", "source", "-o", "unwrap", str(many)]) - start
        copy = best([krm, "fn", "run", str(many), "--enable-exec", "--exec-path", "cat"]) - 2 * start
        print(f"a start {start:.1f} ms, parse and emit {once:.0f} ms, copying through a function {copy:.0f} ms")
        show("copy", copy / once, 3, "times")

        few = scratch / "few.yaml"
        few.write_text(resources(100))

        def step(spec, *more):
            """Milliseconds of one more step, once everything is warm."""
            short = declare(scratch / f"short-{len(list(scratch.iterdir()))}", spec, 1)
            long = declare(scratch / f"long-{len(list(scratch.iterdir()))}", spec, 51)
            run = [krm, "fn", "run", str(few), *more, "--fn-path"]
            return (best([*run, str(long)], env=env) - best([*run, str(short)], env=env)) / 50

        show("wasm", step(wasm), 30, "ms")
        show("cached", step(wasm, "--cache"), 1, "ms")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
