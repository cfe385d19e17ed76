"""Reads YAML documents, each on a line of standard input as a JSON string; writes what it made of each as JSON."""

import json
import sys

name = sys.argv[1]
if name == "pyyaml":
    import yaml

    read = yaml.safe_load
elif name == "ruamel-1.1" or name == "ruamel-1.2":
    from ruamel.yaml import YAML

    def read(text):
        loader = YAML(typ="safe", pure=True)
        loader.version = name[-3:]
        return loader.load(text)


print("ready")
for line in sys.stdin:
    try:
        print(json.dumps(read(json.loads(line)), allow_nan=False, default=lambda value: {"not JSON": str(type(value))}))
    except Exception as error:
        print(json.dumps({"refused": str(error)}))
