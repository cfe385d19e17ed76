#!/usr/bin/env python3
"""Fills version and checksums into the manifests of other package managers: manifests.py VERSION DIST

A platform whose archive is not in DIST is left out, and a manifest without any platform is not written. `manifests.py --check
DIST` checks that the filled-in manifests can be read, and that every checksum is that of a file in DIST.
"""
import hashlib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
MANIFESTS = ["krew/krm.yaml", "homebrew/krm.rb", "scoop/krm.json"]

# One platform in each kind of manifest.
PLATFORMS = {
    ".yaml": re.compile(r"^  - selector:\n(?:(?!  - selector:).+\n)+", re.M),
    ".rb": re.compile(r"^    on_\w+ do\n(?:      .*\n)+    end\n", re.M),
    ".json": re.compile(r'^        "64bit": \{\n(?: {12}.*"(?:url|hash)".*\n)+        \}\n', re.M),
}
CHECKSUM = re.compile(r"@SHA256:([^@]+@VERSION@[^@]+)@")


def main():
    if sys.argv[1] == "--check":
        return check(pathlib.Path(sys.argv[2]))
    version, dist = sys.argv[1], pathlib.Path(sys.argv[2])

    def archive(match):
        return dist / match.group(1).replace("@VERSION@", version)

    def platform(match):
        return match.group() if archive(CHECKSUM.search(match.group())).is_file() else ""

    for manifest in map(pathlib.Path, MANIFESTS):
        text = PLATFORMS[manifest.suffix].sub(platform, (HERE / manifest).read_text())
        if CHECKSUM.search(text):
            text = CHECKSUM.sub(lambda match: sha256(archive(match)), text)
            (dist / manifest.name).write_text(text.replace("@VERSION@", version))


def check(dist):
    known = {sha256(file) for file in dist.iterdir() if file.is_file()}
    written = [dist / pathlib.Path(manifest).name for manifest in MANIFESTS]
    if not (dist / "krm.yaml").is_file():
        sys.exit("krew/krm.yaml: there is no archive for it")
    for manifest in filter(pathlib.Path.is_file, written):
        text = manifest.read_text()
        sums = re.findall(r"\b[0-9a-f]{64}\b", text)
        if not sums or not known.issuperset(sums) or "@" in text:
            sys.exit(f"{manifest.name}: a checksum or a version is wrong")
        if manifest.suffix == ".json":
            json.loads(text)


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


main()
