#!/usr/bin/env python3
# Prints its list as JSON: one resource changed, one new.
import json, sys
web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"app": "web", "tier": "front"}, "name": "web"},
       "spec": {"replicas": 1, "strategy": {"type": "Recreate", "list": [{"a": "1"}]}, "template": {"spec": {"containers": [
           {"image": "web:2", "name": "web"}, {"name": "sidecar", "image": "side:1"}]}}}}
new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"on": "yes", "text": "a\nb\n", "n": "1"}}
sys.stdin.read()
json.dump({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [web, new]}, sys.stdout)
