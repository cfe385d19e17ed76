#!/usr/bin/env python3
"""Makes a Debian package of the files of the tarball: deb.py TREE VERSION PROCESSOR DIST

The binary is static, so the package depends on nothing and installs on any release.
"""
import email.utils
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

# Debian's names for processors.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

MAINTAINER = "The krm authors <krm-tools@users.noreply.github.com>"

CONTROL = """\
Package: krm
Version: {version}
Section: utils
Priority: optional
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Recommends: git
Description: one fast program for Kubernetes configuration
 Builds kustomizations as kustomize build does, runs KRM functions, composes
 lists of transformers, and merges resources while keeping their comments.
"""

# Debian has the text of the licence on every machine, and wants to be pointed at it.
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2026 the krm authors
License: Apache-2.0
 The full text is in /usr/share/common-licenses/Apache-2.0
"""


def main():
    tree, version, dist = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[4])
    architecture = ARCHITECTURES[sys.argv[3]]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        root.chmod(0o755)
        place(tree / "krm", root / "usr/bin/krm", 0o755)
        document = root / "usr/share/doc/krm"
        document.mkdir(parents=True)
        (document / "copyright").write_text(COPYRIGHT)
        (document / "changelog.gz").write_bytes(gzip.compress(changes(tree, version), mtime=0))
        place(tree / "completions/krm.bash", root / "usr/share/bash-completion/completions/krm", 0o644)
        place(tree / "completions/krm.zsh", root / "usr/share/zsh/vendor-completions/_krm", 0o644)
        place(tree / "completions/krm.fish", root / "usr/share/fish/vendor_completions.d/krm.fish", 0o644)
        for page in sorted((tree / "man").iterdir()):
            packed = root / "usr/share/man/man1" / (page.name + ".gz")
            packed.parent.mkdir(parents=True, exist_ok=True)
            packed.write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        # `kubectl krm`, and its completion.
        for name in ("kubectl-krm", "kubectl_complete-krm"):
            (root / "usr/bin" / name).symlink_to("krm")
            (root / f"usr/share/man/man1/{name}.1.gz").symlink_to("krm.1.gz")
        size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file() and not f.is_symlink()) // 1024
        control = root / "DEBIAN/control"
        control.parent.mkdir()
        control.write_text(CONTROL.format(maintainer=MAINTAINER, version=version, architecture=architecture, size=size))
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "--build", root, dist / f"krm_{version}_{architecture}.deb"],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def changes(tree, version):
    """The changes of this version, as Debian writes them."""
    text = (tree / "CHANGELOG.md").read_text()
    section = re.search(rf"^## {re.escape(version)}\n(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)
    entries = re.sub(r"\n(?![*\n])\s*", " ", section.strip()).split("\n")
    lines = [line for entry in entries for line in textwrap.wrap(entry, 76, initial_indent="  ", subsequent_indent="    ")]
    when = email.utils.formatdate(int(os.environ["SOURCE_DATE_EPOCH"]))
    head, end = f"krm ({version}) unstable; urgency=low", f" -- {MAINTAINER}  {when}"
    return "\n".join([head, "", *lines, "", end, ""]).encode()


def place(source, target, mode):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


main()
