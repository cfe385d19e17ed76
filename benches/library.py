#!/usr/bin/env python3
"""Time krm as a Go library beside kustomize's own Go library, in one Go program, and compare their bytes.

usage: library.py [--small] [DIR...]

Needs Go, and the engine as a module: `bindings/go/build` makes it. Folders that are named are measured in place of the generated
ones. `--small` makes inputs that take a second, to see that both agree.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMPARE = HERE.parent / "bindings/go/compare"

# What to make, how much of it, how much with `--small`, and the folder to build.
WORKLOADS = [
    ("overlay", 250, 5, "top"),
    ("flat", 250, 5, "."),
    ("deep", 20, 3, "{n}"),
    ("fleet", 2, 2, "site-0"),
    ("refs", 200, 5, "."),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="DIR")
    args = parser.parse_args()
    if not (COMPARE.parent / "krm.wasm").exists():
        sys.exit("there is no bindings/go/krm.wasm: run bindings/go/build")
    with tempfile.TemporaryDirectory() as scratch:
        # Built first, so that it can run where the names of the folders are short.
        program = pathlib.Path(scratch, "compare")
        subprocess.run(["go", "build", "-o", program, "."], cwd=COMPARE, check=True)
        folders = [str(folder.resolve()) for folder in args.folders]
        for kind, n, few, at in [] if folders else WORKLOADS:
            n = few if args.small else n
            subprocess.run([sys.executable, HERE / "workload.py", kind, str(n), f"{scratch}/{kind}-{n}"], check=True)
            folders.append(str(pathlib.Path(f"{kind}-{n}", at.format(n=n))))
        sys.exit(subprocess.run([program, *folders], cwd=scratch).returncode)


main()
