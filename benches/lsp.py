#!/usr/bin/env python3
"""Time `krm lsp`: from a key press to the diagnostics, and what it keeps.

usage: lsp.py [--krm BINARY] [--resources N] [--keys N]

A folder with one overlay over N resources in one file; letters are typed in the middle of that file, one after the other,
each when the answer to the one before has come.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


class Client:
    def __init__(self, krm, root):
        self.process = subprocess.Popen([krm, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0
        self.request("initialize", {"rootUri": root.as_uri(), "capabilities": {"general": {"positionEncodings": ["utf-8"]}}})
        self.send({"method": "initialized", "params": {}})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def request(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == self.count:
                return message.get("result")

    def diagnostics(self, uri, version):
        while True:
            message = self.read()
            if message.get("method") == "textDocument/publishDiagnostics":
                params = message["params"]
                if params["uri"] == uri and params.get("version") == version:
                    return params["diagnostics"]

    def memory(self):
        """Megabytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--krm", default=str(HERE.parent / "target/release/krm"))
    parser.add_argument("--resources", type=int, default=4000)
    parser.add_argument("--keys", type=int, default=100)
    args = parser.parse_args()
    failures = []

    def claim(text, holds):
        print(f"  {'ok  ' if holds else 'MISS'} {text}")
        if not holds:
            failures.append(text)

    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        services = args.resources // 4
        subprocess.run([sys.executable, HERE / "workload.py", "overlay", str(services), root], check=True)
        file = root / "base/services.yaml"
        text = file.read_text()
        uri = file.as_uri()
        start = time.perf_counter()
        client = Client(args.krm, root)
        client.send({"method": "textDocument/didOpen", "params": {
            "textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}}})
        client.diagnostics(uri, 1)
        print(f"{args.resources} resources; the first diagnostics after {1000 * (time.perf_counter() - start):.0f} ms")
        lines = text.split("\n")
        line = next(n for n, line in enumerate(lines) if line == f'  number: "{services // 2}"')
        column = len(lines[line]) - 1

        def press(version, letter):
            here = {"line": line, "character": column}
            start = time.perf_counter()
            client.send({"method": "textDocument/didChange", "params": {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"range": {"start": here, "end": here}, "text": letter}]}})
            found = client.diagnostics(uri, version)
            assert found == [], found
            return time.perf_counter() - start

        times = sorted(press(2 + n, "7") for n in range(args.keys))
        before = client.memory()
        more = [press(2 + args.keys + n, "7") for n in range(args.keys)]
        after = client.memory()
        late = times[int(len(times) * 0.95)]
        print(f"from key press to diagnostics: median {1000 * statistics.median(times):.0f} ms, "
              f"95 of 100 within {1000 * late:.0f} ms, at most {1000 * max(times):.0f} ms")
        print(f"memory after {args.keys} keys {before:.0f} MB, after {2 * args.keys} keys {after:.0f} MB")
        claim("diagnostics within 100 ms of a key press (95 of 100)", late <= 0.1)
        claim("memory does not grow with keys", after <= before * 1.1 + 8 and len(more) == args.keys)
        client.request("shutdown", None)
        client.send({"method": "exit"})
        client.process.wait()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
