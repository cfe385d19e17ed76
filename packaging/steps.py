#!/usr/bin/env python3
"""Runs the steps of the GitHub action and of the GitLab component as their runners would: steps.py DIST

What they download comes from a server that has DIST where a release would be. Needs PyYAML, curl and wget.
"""
import functools
import http.server
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import threading

import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent
RELEASES = "https://github.com/krm-tools/krm/releases/download/"
RUNNER_ARCH = {"x86_64": "X64", "aarch64": "ARM64"}[platform.machine()]


class Releases(http.server.SimpleHTTPRequestHandler):
    """Every release has the files of DIST."""

    def translate_path(self, path):
        return super().translate_path(path.rpartition("/")[2])

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Releases, directory=sys.argv[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    for label, check in (("GitHub action", action), ("GitLab component", component)):
        with tempfile.TemporaryDirectory() as scratch:
            check(address, pathlib.Path(scratch))
        print(f"ok: {label}")


def run(script, address, folder, **variables):
    """What bash makes of a script, with the server in place of that of releases."""
    assert RELEASES in script or "read -r" in script, "the script downloads from elsewhere"
    script = script.replace(RELEASES, address)
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True)


def action(address, scratch):
    definition = yaml.safe_load((TOP / "action.yml").read_text())
    install, start = (step["run"] for step in definition["runs"]["steps"])
    version = definition["inputs"]["version"]["default"]
    runner = {"RUNNER_OS": "Linux", "RUNNER_ARCH": RUNNER_ARCH, "RUNNER_TEMP": str(scratch), "GITHUB_PATH": str(scratch / "path")}
    done = run(install, address, scratch, VERSION=version, **runner)
    assert done.returncode == 0, done.stderr
    path = (scratch / "path").read_text().strip()
    words = {"PATH": f"{path}:{os.environ['PATH']}"}
    built = run(start, address, TOP, ARGS="build --strict examples/shop/overlays/production", **words)
    assert built.returncode == 0 and "kind: Deployment" in built.stdout, built.stderr
    # What is wrong is shown beside its line; and no word is a command.
    failed = run(start, address, TOP, ARGS="build --strict examples/mistakes $(touch bad) ; true", **words)
    assert failed.returncode != 0 and "::error" in failed.stderr + failed.stdout and not (TOP / "bad").exists(), failed.stderr
    # A file that is not what the release lists is refused.
    refused = run(install.replace("grep ", "echo x >>$name.tar.gz; grep "), address, scratch, VERSION=version, **runner)
    assert refused.returncode != 0, refused.stdout


def component(address, scratch):
    inputs, job = yaml.safe_load_all((TOP / "templates/krm.yml").read_text())
    given = {name: how.get("default") for name, how in inputs["spec"]["inputs"].items()}
    given |= {"targets": f"{TOP}/examples/shop/overlays/production"}
    job = job["krm"]
    (scratch / "bin").mkdir()

    def script(**others):
        lines = "\n".join([*job["before_script"], *job["script"]])
        text = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: {**given, **others}[found.group(1)], lines)
        return text.replace("/usr/local/bin", str(scratch / "bin"))

    path = {"PATH": f"{scratch / 'bin'}:{os.environ['PATH']}"}
    report = scratch / "gl-code-quality-report.json"
    done = run(script(), address, scratch, **path)
    assert done.returncode == 0 and json.loads(report.read_text()) == [], done.stderr
    written = list((scratch / given["output"]).rglob("*.yaml"))
    assert len(written) == 1 and "kind: Deployment" in written[0].read_text(), written
    failed = run(script(targets=f"{TOP}/examples/mistakes"), address, scratch, **path)
    assert failed.returncode != 0 and json.loads(report.read_text())[0]["location"], failed.stderr


main()
