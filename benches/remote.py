#!/usr/bin/env python3
"""Time a fleet with caches, on the disk and on a server, and with functions that run on a server.

usage: remote.py [--krm BINARY] [--module FILE] [--program FILE] [--targets NUMBER] [--table]

A fleet of 200 targets on one base of ten resources, each with two functions, side by side in one run:

  cold            without a cache; the functions are a WebAssembly module
  filling         with an empty disk and an empty server, uploading to it
  warm disk       with what that left on the disk
  warm server     with an empty disk: every target from the server
  one changed     with a warm disk, one target changed
  base changed    with a warm disk, the base changed: all targets are built, and their functions run
  reading         `cat` of the same files, and the same with their SHA-256
  execution       the functions are executables, all of which a server runs: cold, and once more from the cache of the server
  in flight       one function for each target, 200 of them sent at once, and only as many at once as the server has workers

  warm fleet      warm disk against reading: at most twice the files with their SHA-256, and the start of krm
  cached call     a function's output for ten resources from the server, by 1 and by 201 calls in one run: under 2 ms a call
  in flight       200 calls at once cost krm at most half as much processor time again as a few at a time, and less than a
                  quarter of the time they take: the server is what they wait for

The cache is bazel-remote on loopback (KRM_BAZEL_REMOTE, or the one in PATH); without it nothing is measured. The server that runs
functions is at KRM_TEST_REAPI_PROGRAMS, as `.ci/servers start` prints it, with two workers; without it these rows are left out, and
that is said. Times are wall-clock, the least of several runs, with processor time beside them, which other load does not change. The
exit status says whether the bounds held.
"""
import argparse
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from functions import ROOT, module, resources

FN = """apiVersion: example.com/v1
kind: SetSize
metadata:
  name: size-{n}
  annotations:
    config.kubernetes.io/function: |
      {how}: {{path: {path}}}
spec: {{}}
"""

# As many as `.ci/servers` gives the server.
WORKERS = 2


def fleet(top, count, program, how="wasm", functions=2):
    """A base of ten resources, and so many overlays with so many functions each."""
    (top / "base").mkdir(parents=True)
    (top / "base/web.yaml").write_text(resources(10))
    (top / "base/kustomization.yaml").write_text("resources: [web.yaml]\n")
    (top / ".git").mkdir()
    shutil.copy(program, top / "fn")
    targets = []
    for i in range(count):
        folder = top / "clusters" / f"c{i:05}"
        folder.mkdir(parents=True)
        names = [f"fn{n + 1}.yaml" for n in range(functions)]
        for n, name in enumerate(names):
            (folder / name).write_text(FN.format(n=n + 1, how=how, path="../../fn"))
        (folder / "kustomization.yaml").write_text(
            f"namePrefix: c{i}-\nresources: [../../base]\ntransformers: [{', '.join(names)}]\n")
        targets.append(f"clusters/c{i:05}")
    return targets


def timed(command, runs=3, before=None, **options):
    """Milliseconds by the clock and of processor time: the least of several runs."""
    clock, used = [], []
    for _ in range(runs):
        if before:
            before()
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        clock.append((time.perf_counter() - start) * 1000)
        used.append((usage.ru_utime + usage.ru_stime) * 1000)
        if status != 0 or b"warning" in said:
            sys.exit(f"{' '.join(map(str, command[:6]))} ... failed:\n{said.decode()}")
    return min(clock), min(used)


class Server:
    def __init__(self, folder):
        program = os.environ.get("KRM_BAZEL_REMOTE") or shutil.which("bazel-remote")
        if not program:
            sys.exit("without bazel-remote there is nothing to measure: .ci/bazel-remote/install FOLDER")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [program, "--dir", str(folder), "--max_size", "1", "--http_address", f"127.0.0.1:{port}",
             "--grpc_address", "none"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit("bazel-remote does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--krm", default="target/release/krm")
    parser.add_argument("--module", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--targets", type=int, default=200)
    parser.add_argument("--table", action="store_true", help="print a Markdown table")
    args = parser.parse_args()
    krm = str(pathlib.Path(args.krm).resolve())
    wasm = args.module or module()
    top = pathlib.Path(tempfile.mkdtemp(prefix="krm-remote-"))
    server = Server(top / "server")
    try:
        good = measure(krm, wasm, top, server, args)
    finally:
        server.stop()
        shutil.rmtree(top, ignore_errors=True)
    sys.exit(0 if good else 1)


def measure(krm, wasm, top, server, args):
    repo = top / "repo"
    targets = fleet(repo, args.targets, wasm)
    disk = top / "cache"
    env = {**os.environ, "XDG_CACHE_HOME": str(disk), "NO_COLOR": "1"}
    options = {"cwd": repo, "env": env}
    forget = lambda: shutil.rmtree(disk, ignore_errors=True)
    build = [krm, "build", *targets, "--enable-alpha-plugins"]
    remote = ["--remote-cache", server.address]
    rows = []

    def row(name, times):
        rows.append((name, *times))
        if not args.table:
            print(f"{name:<24}{times[0]:10.1f} ms {times[1]:10.1f} ms of processor time", flush=True)
        return times

    def other(path, text):
        """Changes a file, to something it never was before."""
        def change():
            other.count += 1
            (repo / path).write_text(text.replace("COUNT", str(other.count)))
        return change
    other.count = 0

    row("cold", timed(build, **options))
    forget()
    row("filling", timed([*build, *remote, "--remote-upload"], runs=1, **options))
    warm = row("warm disk", timed([*build, "--cache"], runs=5, **options))
    row("warm server", timed([*build, *remote], before=forget, **options))
    kustomization = (repo / targets[0] / "kustomization.yaml").read_text()
    changed = kustomization.replace("c0-", "cCOUNT-")
    row("one changed", timed([*build, "--cache"], before=other(f"{targets[0]}/kustomization.yaml", changed), **options))
    base = (repo / "base/web.yaml").read_text()
    row("base changed", timed([*build, "--cache"], runs=2, before=other("base/web.yaml", base + "# COUNT\n"), **options))
    files = [str(path) for path in repo.rglob("*") if path.is_file()]
    row("reading (cat)", timed(["cat", *files], runs=5, **options))
    reading = row("reading (sha256sum)", timed(["sha256sum", *files], runs=5, **options))
    start = row("start of krm", timed([krm, "version"], runs=5, **options))

    # One call, and two hundred more with other inputs: functions beside the package, so that all see the same ten resources.
    calls = top / "calls"
    (calls / "pkg").mkdir(parents=True)
    (calls / "pkg/web.yaml").write_text(resources(10))
    def run(count):
        folder = calls / f"of-{count}"
        folder.mkdir()
        shutil.copy(wasm, folder / "fn")
        for n in range(count):
            (folder / f"fn{n:03}.yaml").write_text(FN.format(n=n, how="wasm", path=f"of-{count}/fn"))
        command = [krm, "fn", "run", "pkg", "--fn-path", folder.name, "--dry-run", *remote]
        subprocess.run([*command, "--remote-upload"], check=True, cwd=calls, env=env, capture_output=True)
        return timed(command, before=forget, cwd=calls, env=env)
    one, many = run(1), run(201)
    per_call = [(many[i] - one[i]) / 200 for i in (0, 1)]
    row("cached call, server", per_call)
    bounds = [("warm fleet / reading", (warm[1] - start[1]) / reading[1], 2), ("cached call in ms", per_call[0], 2)]
    bounds += execution(krm, top, args, env, row)

    if args.table:
        print(f"| {args.targets} targets | clock | processor |\n| --- | ---: | ---: |")
        for name, clock, used in rows:
            print(f"| {name} | {clock:.1f} ms | {used:.1f} ms |")
    good = True
    for name, value, most in bounds:
        held = value <= most
        good &= held
        print(f"{name}: {value:.2f}, at most {most}: {'held' if held else 'MISSED'}", file=sys.stderr)
    return good


def execution(krm, top, args, env, row):
    """Functions that a server runs; gives the bounds."""
    server = os.environ.get("KRM_TEST_REAPI_PROGRAMS")
    if not server:
        print("left out: functions on a server, for KRM_TEST_REAPI_PROGRAMS is not set", file=sys.stderr)
        return []
    program = args.program or executable()
    # Bytes that no server has seen, so that its cache knows nothing of these calls.
    fresh = top / "program"
    fresh.write_bytes(program.read_bytes() + os.urandom(16))
    fresh.chmod(0o755)
    flags = ["--enable-alpha-plugins", "--enable-exec", "--remote-executor", server, "--remote-executables"]

    def build(name, jobs, functions=1):
        repo = top / name
        targets = fleet(repo, args.targets, fresh, "exec", functions)
        command = [krm, "build", *targets, *flags, "--remote-jobs", str(jobs)]
        return lambda: timed(command, runs=1, cwd=repo, env=env)

    both = build("execution", args.targets, functions=2)
    row("execution, cold", both())
    row("execution, cached there", both())
    # What the server runs anew has to differ: in the bytes of the program.
    fresh.write_bytes(program.read_bytes() + os.urandom(16))
    few = row(f"{WORKERS} calls in flight", build("few", WORKERS)())
    fresh.write_bytes(program.read_bytes() + os.urandom(16))
    all_at_once = row(f"{args.targets} calls in flight", build("many", args.targets)())
    return [(f"{args.targets} calls in flight / {WORKERS}", all_at_once[1] / few[1], 1.5),
            ("krm at work / the time they take", all_at_once[1] / all_at_once[0], 0.25)]


def executable():
    """Builds the same function for this machine."""
    build = ["cargo", "build", "--quiet", "--release", "-p", "krm-example-functions", "--bin", "set-size",
             "--target-dir", "target/modules"]
    if subprocess.run(build, cwd=ROOT).returncode != 0:
        sys.exit("the example functions cannot be built")
    return ROOT / "target/modules/release/set-size"


if __name__ == "__main__":
    main()
