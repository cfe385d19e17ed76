#!/usr/bin/env python3
"""Prints a bill of materials (CycloneDX 1.5) of everything Cargo.lock names: sbom.py Cargo.lock VERSION"""
import json
import sys
import tomllib


def main():
    with open(sys.argv[1], "rb") as file:
        packages = tomllib.load(file)["package"]
    components = []
    for package in packages:
        if "source" not in package:
            continue
        name, version = package["name"], package["version"]
        purl = f"pkg:cargo/{name}@{version}"
        component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        if "checksum" in package:
            component["hashes"] = [{"alg": "SHA-256", "content": package["checksum"]}]
        components.append(component)
    root = {"type": "application", "bom-ref": "krm", "name": "krm", "version": sys.argv[2]}
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
    }
    json.dump(bom, sys.stdout, indent=1)
    print()


main()
