#!/usr/bin/env python3
"""Check that what `--error-format sarif` writes is valid by the schema of SARIF 2.1.0.

usage: sarif.py KRM

The schema is in the crate `serde-sarif`, which is only fetched for it. Needs the Python package `jsonschema`; says so and
passes where either cannot be had.
"""
import json
import pathlib
import subprocess
import sys


def schema():
    """The schema, from the crate's folder in cargo's cache."""
    folder = pathlib.Path("target/sarif")
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").touch()
    manifest = '[package]\nname = "schema"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\nserde-sarif = "0.8"\n'
    (folder / "Cargo.toml").write_text(manifest)
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=folder, check=True)
    command = ["cargo", "metadata", "--format-version", "1", "--offline"]
    metadata = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)
    package = next(package for package in metadata["packages"] if package["name"] == "serde-sarif")
    return json.loads((pathlib.Path(package["manifest_path"]).parent / "src/schema.json").read_text())


def main():
    krm = str(pathlib.Path(sys.argv[1]).resolve())
    try:
        import jsonschema

        validator = jsonschema.validators.validator_for(schema())(schema())
    except (ImportError, OSError, StopIteration, subprocess.CalledProcessError) as error:
        print(f"sarif: not checked, the schema or its checker cannot be had: {error}")
        return 0
    faults = checked = 0
    for case in sorted(pathlib.Path("tests/cases/errors").iterdir()):
        arguments = case / "args"
        words = arguments.read_text().split() if arguments.exists() else ["build", "in"]
        if words[0] not in ("build", "lint") or "--error-format" in words or "-o" in words or "--fix" in words:
            continue
        said = subprocess.run([krm, *words, "--error-format", "sarif"], cwd=case, capture_output=True, stdin=subprocess.DEVNULL)
        try:
            log = json.loads(said.stderr)
        except ValueError as error:
            print(f"{case.name}: not JSON: {error}")
            faults += 1
            continue
        checked += 1
        for error in validator.iter_errors(log):
            print(f"{case.name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
            faults += 1
    print(f"sarif: {checked} logs checked, {faults} faults")
    return 1 if faults or not checked else 0


sys.exit(main())
