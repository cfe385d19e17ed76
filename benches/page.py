#!/usr/bin/env python3
"""Time the page of 4,000 resources: its size, how long krm takes to write it, and how long a browser takes to show it.

usage: page.py KRM [--runs 5]

Needs node, Chromium and the package playwright-core, found as `tests/page.rs` finds them. Fails if the page is larger than
3 MB, or is not ready to be used within 2 s.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent

OPEN = """
const { chromium } = require('playwright-core');
(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const times = [];
  for (let run = 0; run < Number(process.argv[2]); run++) {
    const page = await (await browser.newContext()).newPage();
    const start = performance.now();
    await page.goto('file://' + process.argv[1]);
    await page.waitForSelector('html[data-ready]', { state: 'attached' });
    await page.keyboard.press('[');
    times.push(performance.now() - start);
    await page.context().close();
  }
  console.log(Math.min(...times));
  await browser.close();
})();
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("krm")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from measure import processor_time

    krm = str(pathlib.Path(args.krm).resolve())
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)))
    modules = os.environ.get("NODE_PATH", str(HERE.parent / "target/readers/node/node_modules"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, HERE / "workload.py", "overlay", "1000", folder], check=True)
        page = pathlib.Path(folder, "page.html")
        build = processor_time([krm, "build", "top"], args.runs, cwd=folder)
        taken = processor_time([krm, "explain", "--html", page, "top"], args.runs, cwd=folder)
        environment = {**os.environ, "CHROMIUM": chromium, "NODE_PATH": modules}
        shown = subprocess.run(
            ["node", "-e", OPEN, str(page), str(args.runs)], env=environment, check=True, capture_output=True, text=True
        )
        ready, size = float(shown.stdout), page.stat().st_size
    print(f"page: {size / 1e6:.2f} MB, written in {taken:.2f} s of processor time ({taken / build:.0f} times the build), ready in {ready:.0f} ms")
    if size > 3 << 20 or ready > 2000:
        sys.exit("too large or too slow")


if __name__ == "__main__":
    main()
