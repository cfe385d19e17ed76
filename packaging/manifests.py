#!/usr/bin/env python3
"""Fills version and checksums into the manifests of other package managers: manifests.py VERSION DIST

An archive that is not in DIST gets a checksum of zeros. `manifests.py --check DIST` checks that the filled-in manifests
can be read and that every checksum which is not zeros is that of a file in DIST.
"""
import hashlib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
MANIFESTS = ["krew/krm.yaml", "homebrew/krm.rb", "scoop/krm.json"]


ZEROS = "0" * 64


def main():
    if sys.argv[1] == "--check":
        return check(pathlib.Path(sys.argv[2]))
    version, dist = sys.argv[1], pathlib.Path(sys.argv[2])

    def checksum(match):
        archive = dist / match.group(1).replace("@VERSION@", version)
        return sha256(archive) if archive.is_file() else ZEROS

    for manifest in MANIFESTS:
        text = (HERE / manifest).read_text()
        text = re.sub(r"@SHA256:([^@]+@VERSION@[^@]+)@", checksum, text)
        (dist / pathlib.Path(manifest).name).write_text(text.replace("@VERSION@", version))


def check(dist):
    known = {sha256(file) for file in dist.iterdir() if file.is_file()}
    json.loads((dist / "krm.json").read_text())
    for manifest in MANIFESTS:
        text = (dist / pathlib.Path(manifest).name).read_text()
        sums = re.findall(r"\b[0-9a-f]{64}\b", text)
        unknown = [each for each in sums if each != ZEROS and each not in known]
        if not sums or unknown or "@" in re.sub(r"apiVersion.*", "", text):
            sys.exit(f"{manifest}: a checksum or a version is wrong")
    if ZEROS in (dist / "krm.yaml").read_text().split("arm64")[0]:
        sys.exit("krew/krm.yaml: the checksum of the archive is missing")


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


main()
