#!/usr/bin/env python3
"""Makes a Debian package of the files of the tarball: deb.py TREE VERSION PROCESSOR DIST

The binary is static, so the package depends on nothing and installs on any release.
"""
import gzip
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Debian's names for processors.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

CONTROL = """\
Package: krm
Version: {version}
Section: utils
Priority: optional
Architecture: {architecture}
Maintainer: The krm authors <krm@example.com>
Installed-Size: {size}
Recommends: git
Description: one fast program for Kubernetes configuration
 Builds kustomizations as kustomize build does, runs KRM functions, composes
 lists of transformers, and merges resources while keeping their comments.
"""


def main():
    tree, version, dist = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[4])
    architecture = ARCHITECTURES[sys.argv[3]]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        root.chmod(0o755)
        place(tree / "krm", root / "usr/bin/krm", 0o755)
        place(tree / "LICENSE", root / "usr/share/doc/krm/copyright", 0o644)
        place(tree / "completions/krm.bash", root / "usr/share/bash-completion/completions/krm", 0o644)
        place(tree / "completions/krm.zsh", root / "usr/share/zsh/vendor-completions/_krm", 0o644)
        place(tree / "completions/krm.fish", root / "usr/share/fish/vendor_completions.d/krm.fish", 0o644)
        for page in sorted((tree / "man").iterdir()):
            packed = root / "usr/share/man/man1" / (page.name + ".gz")
            packed.parent.mkdir(parents=True, exist_ok=True)
            packed.write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) // 1024
        control = root / "DEBIAN/control"
        control.parent.mkdir()
        control.write_text(CONTROL.format(version=version, architecture=architecture, size=size))
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "--build", root, dist / f"krm_{version}_{architecture}.deb"],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def place(source, target, mode):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


main()
