#!/usr/bin/env node
// Hands over to the binary for this processor: same arguments, same streams, same exit status.
const { spawnSync } = require("node:child_process");
const path = require("node:path");

const { status, signal, error } = spawnSync(path.join(__dirname, `krm-${process.arch}`), process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`krm: cannot start the binary: ${error.message}`);
  process.exit(1);
}
if (signal) {
  process.kill(process.pid, signal);
}
process.exit(status ?? 1);
