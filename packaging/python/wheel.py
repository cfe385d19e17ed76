#!/usr/bin/env python3
"""Makes a wheel that holds the static binary: wheel.py BINARY VERSION PROCESSOR DIST

The binary needs no C library, so one wheel serves old and new Linux distributions, with glibc and with musl.
"""
import base64
import hashlib
import pathlib
import sys
import zipfile

PLATFORMS = ["manylinux2014", "musllinux_1_1"]


def main():
    binary, version, dist = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[4])
    platforms = [f"{platform}_{sys.argv[3]}" for platform in PLATFORMS]
    here = pathlib.Path(__file__).parent
    info = f"krm-{version}.dist-info"
    wheel = "Wheel-Version: 1.0\nGenerator: krm packaging\nRoot-Is-Purelib: false\n"
    wheel += "".join(f"Tag: py3-none-{platform}\n" for platform in platforms)
    metadata = (here / "METADATA").read_text().replace("@VERSION@", version)
    entries = [
        (f"krm-{version}.data/scripts/krm", binary.read_bytes(), 0o755),
        (f"{info}/METADATA", metadata.encode(), 0o644),
        (f"{info}/WHEEL", wheel.encode(), 0o644),
        (f"{info}/licenses/LICENSE", (here.parent.parent / "LICENSE").read_bytes(), 0o644),
    ]
    record = f"{info}/RECORD"
    lines = [f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in entries] + [f"{record},,\n"]
    entries.append((record, "".join(lines).encode(), 0o644))
    path = dist / f"krm-{version}-py3-none-{'.'.join(platforms)}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data, mode in entries:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, data)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


main()
