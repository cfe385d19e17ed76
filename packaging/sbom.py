#!/usr/bin/env python3
"""Prints a bill of materials (CycloneDX 1.5) of what is in the binaries: sbom.py TARGET...

It has the crates that krm is linked with on any of the targets, their licences and checksums, and who asked for whom. What is used
only to compile or to test krm is not in it.
"""
import json
import subprocess
import sys
import tomllib


def main():
    platforms = [f"--filter-platform={target}" for target in sys.argv[1:]]
    asked = ["cargo", "metadata", "--format-version=1", "--locked", *platforms]
    metadata = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    with open("Cargo.lock", "rb") as file:
        locked = tomllib.load(file)["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    packages = {package["id"]: package for package in metadata["packages"]}
    root = metadata["resolve"]["root"]
    # A macro runs in the compiler.
    macros = {one for one, package in packages.items() if "proc-macro" in package["targets"][0]["kind"]}
    links = linked(metadata["resolve"]["nodes"], root, macros)

    def component(package_id):
        package = packages[package_id]
        name, version = package["name"], package["version"]
        found = {"type": "library", "bom-ref": purl(package), "name": name, "version": version, "purl": purl(package)}
        # Some crates still write `MIT/Apache-2.0`, which is not an expression.
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksum := checksums[name, version]:
            found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return found

    def depends(package_id):
        return {"ref": purl(packages[package_id]), "dependsOn": [purl(packages[one]) for one in links[package_id]]}

    order = sorted(links, key=lambda one: purl(packages[one]))
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component(root), "type": "application"}},
        "components": [component(one) for one in order if one != root],
        "dependencies": [depends(one) for one in order],
    }
    json.dump(bom, sys.stdout, indent=1)
    print()


def linked(nodes, root, macros):
    """What each crate is linked with, for all that can be reached."""
    normal = {node["id"]: [one["pkg"] for one in node["deps"] if is_linked(one) and one["pkg"] not in macros] for node in nodes}
    reached, todo = {}, [root]
    while todo:
        one = todo.pop()
        if one not in reached:
            reached[one] = sorted(set(normal[one]))
            todo += reached[one]
    return reached


def is_linked(dependency):
    return any(kind["kind"] is None for kind in dependency["dep_kinds"])


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


main()
