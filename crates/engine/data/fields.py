#!/usr/bin/env python3
"""Make the list of fields and their types that `krm lint` checks resources against.

usage: fields.py DEFINITIONS...  > kubernetes-fields.txt

Each of DEFINITIONS is a JSON document of one Kubernetes version, oldest first: a release's `swagger.json`, or
`vVERSION-local/_definitions.json` of the PyPI package `kubernetes-validate` (1.22.1 has 1.14 to 1.22, 1.37.0 has 1.25 to 1.37).
A field that any of the versions has is known; where versions differ about its type, it may be anything.

A line `KIND GROUP VERSION TYPE` is a kind, and a line of fields the next type, counted from 0: `name=TYPE name=TYPE`. A type is
`s` text, `i` integer, `n` number, `b` boolean, `q` text or number, `a` anything, `o` any map, `[T` a list of T, `{T` a map of
T, or the number of a type with fields.
"""
import json
import sys

GVK = "x-kubernetes-group-version-kind"
NOT_FILES = {"DeleteOptions", "WatchEvent", "Status"}
PLAIN = {"string": "s", "integer": "i", "number": "n", "boolean": "b"}


def kind_of(schema):
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = [k for k in kind if k != "null"]
        kind = kind[0] if len(kind) == 1 else None
    return kind


def code(schema, definitions):
    """A type, with names of definitions in angle brackets."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        target = definitions.get(name, {})
        if target.get("properties"):
            return f"<{name}>"
        return code({k: v for k, v in target.items()}, definitions) if target else "a"
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
        return "a"
    if "oneOf" in schema or "anyOf" in schema or schema.get("format") == "int-or-string":
        return "q"
    kind = kind_of(schema)
    if kind in PLAIN:
        return PLAIN[kind]
    if kind == "array":
        return "[" + code(schema.get("items", {}), definitions)
    if kind == "object":
        values = schema.get("additionalProperties")
        return "{" + code(values, definitions) if isinstance(values, dict) and values else "o"
    return "a"


def main():
    fields, kinds = {}, {}
    for path in sys.argv[1:]:
        document = json.load(open(path))
        definitions = document.get("definitions") or document["$defs"]
        for name, schema in definitions.items():
            known = fields.setdefault(name, {})
            for field, child in schema.get("properties", {}).items():
                new = code(child, definitions)
                known[field] = new if known.get(field, new) == new else "a"
            for gvk in schema.get(GVK, []):
                if gvk["kind"] not in NOT_FILES and not gvk["kind"].endswith("List"):
                    kinds[(gvk["kind"], gvk["group"], gvk["version"])] = name
    # What is a quantity or an integer-or-text in one version is so in all.
    numbers, todo = {}, []

    def number(name):
        if name not in numbers:
            numbers[name] = len(numbers)
            todo.append(name)
        return numbers[name]

    def resolve(text):
        if "<" not in text:
            return text
        lead, name = text.split("<")
        return f"{lead}{number(name.rstrip('>'))}"

    print("# Fields of Kubernetes resources and their types; made by data/fields.py, not by hand.")
    lines = []
    for (kind, group, version), name in sorted(kinds.items()):
        print(f"{kind} {group or '-'} {version} {number(name)}")
    print()
    at = 0
    while at < len(todo):
        name = todo[at]
        at += 1
        lines.append(" ".join(f"{f}={resolve(t)}" for f, t in sorted(fields[name].items())))
    print("\n".join(lines))


main()
