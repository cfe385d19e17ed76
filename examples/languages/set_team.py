#!/usr/bin/env python3
import sys, yaml

request = yaml.safe_load(sys.stdin)
config = request.get("functionConfig") or {}
team = (config.get("data") or {}).get("team")
if not team:
    request["results"] = [{"severity": "error", "message": "say which team: `team=NAME`"}]
for item in request["items"] if team else []:
    item["metadata"].setdefault("labels", {})["team"] = team
yaml.safe_dump(request, sys.stdout, sort_keys=False)
sys.exit(0 if team else 1)
