#!/usr/bin/env node
import { parse, stringify } from "yaml";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const request = parse(input);
const team = request.functionConfig?.data?.team;
if (!team) request.results = [{ severity: "error", message: "say which team: `team=NAME`" }];
for (const item of team ? request.items : []) (item.metadata.labels ??= {}).team = team;
process.stdout.write(stringify(request));
process.exitCode = team ? 0 : 1;
