#!/usr/bin/env python3
"""Make the digest of a Kubernetes version's types that the schema is compiled from.

usage: generate.py VERSION OPENAPI [PREVIOUS]  > kubernetes_VERSION.rs

OPENAPI is a JSON document with `definitions` that carry the `x-kubernetes-*` extensions: the `swagger.json` of a
Kubernetes release, or `vVERSION-local/_definitions.json` of the PyPI package `kubernetes-validate`. Where it has
`paths` (or a `resources` list with scopes) the scopes come from there; a document without them takes the scopes of the
digest named as PREVIOUS, and of SCOPES below for kinds that came later.

What is kept: for every kind its scope and its type, and of every type the fields that hold maps or lists of maps, with
how a list is merged. Scalars, lists of scalars that are replaced, and descriptions are left out, and types that cannot
be distinguished by what is left are one.
"""
import json
import re
import sys

GVK = "x-kubernetes-group-version-kind"
STRATEGY = "x-kubernetes-patch-strategy"
KEY = "x-kubernetes-patch-merge-key"
KEYS = "x-kubernetes-list-map-keys"

# Kinds of every group that no one keeps in a file.
NOT_FILES = {"DeleteOptions", "WatchEvent"}

# Cluster-scoped kinds that documents without paths do not tell about; any other kind lives in a namespace.
CLUSTER = {
    "APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding",
    "ClusterTrustBundle", "ComponentStatus", "CustomResourceDefinition", "DeviceClass", "DeviceTaintRule",
    "FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
    "PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectReview",
    "SelfSubjectRulesReview", "ServiceCIDR", "StorageClass", "StorageVersion", "StorageVersionMigration",
    "SubjectAccessReview", "TokenReview", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
}

# Known to be cluster-scoped though the documents of their version do not have them.
SCOPES = {
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"): "Cluster",
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"): "Cluster",
}

# The one type of ours: a kustomization's generators are merged by name.
KUSTOMIZATION = {
    "type": "object",
    GVK: [{"group": "kustomize.config.k8s.io", "version": "v1beta1", "kind": "Kustomization"}],
    "properties": {
        field: {"type": "array", "items": {"type": "object"}, STRATEGY: "merge", KEY: "name"}
        for field in ("configMapGenerator", "secretGenerator")
    },
}

SCALAR = "scalar"


def describe(schema, todo):
    """A type as (fields, values, items, merge), where the parts are names of types."""

    def name_of(child):
        """The name of a child's type; None for what holds neither a map nor a list of maps."""
        if "$ref" in child:
            # As the reference resolves them: what is beside a `$ref` does not count.
            target = child["$ref"].rsplit("/", 1)[1]
            return target if shape(todo.definitions[target]) != SCALAR else None
        if shape(child) == SCALAR:
            return None
        return todo.add(child)

    def shape(child):
        if "$ref" in child:
            return shape(todo.definitions[child["$ref"].rsplit("/", 1)[1]])
        if child.get("properties"):
            return "object"
        kind = child.get("type")
        if kind == "array" or kind == ["array", "null"]:
            merges = "merge" in child.get(STRATEGY, "").split(",")
            return "array" if merges or shape(child.get("items", {})) != SCALAR else SCALAR
        values = child.get("additionalProperties")
        if isinstance(values, dict) and values:
            return shape(values) and ("map" if shape(values) != SCALAR else SCALAR)
        return "object" if kind in ("object", ["object", "null"]) else SCALAR

    fields = {f: name_of(c) for f, c in schema.get("properties", {}).items()}
    fields = {f: n for f, n in fields.items() if n}
    values = schema.get("additionalProperties")
    values = name_of(values) if isinstance(values, dict) else None
    items, merge = None, None
    if "items" in schema:
        items = name_of(schema["items"])
        if "merge" in schema.get(STRATEGY, "").split(","):
            merge = tuple(schema.get(KEYS) or ([schema[KEY]] if KEY in schema else []))
    return fields, values, items, merge


class Types:
    def __init__(self, definitions):
        self.definitions, self.extra, self.described = definitions, [], {}

    def add(self, schema):
        self.extra.append(schema)
        return f"#{len(self.extra) - 1}"

    def describe_all(self, roots):
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name in self.described:
                continue
            schema = self.extra[int(name[1:])] if name.startswith("#") else self.definitions[name]
            fields, values, items, merge = self.described[name] = describe(schema, self)
            todo += [n for n in [*fields.values(), values, items] if n]

    def numbers(self):
        """One number for types that no question can tell apart; 0 for the type that has nothing to tell."""
        number = {name: 0 for name in self.described}
        number[None] = None
        while True:
            seen = {((), None, None, None): 0}
            refined = {}
            for name in sorted(self.described):
                fields, values, items, merge = self.described[name]
                key = (tuple(sorted((f, number[n]) for f, n in fields.items())), number[values], number[items], merge)
                refined[name] = seen.setdefault(key, len(seen))
            if len(set(refined.values())) == len({n for n in number.values() if n is not None}):
                return refined
            number = {**refined, None: None}


def scopes_of(document):
    scopes = {}
    for path, item in document.get("paths", {}).items():
        gvk = item.get("get", {}).get(GVK)
        if gvk:
            key = (gvk["group"], gvk["version"], gvk["kind"])
            if "namespaces/{namespace}" in path:
                scopes[key] = "Namespaced"
            else:
                scopes.setdefault(key, "Cluster")
    for resource in document.get("resources", []):
        group, _, version = resource["apiVersion"].rpartition("/")
        if resource.get("scope"):
            scopes[(group, version, resource["kind"])] = resource["scope"]
    return scopes


def scopes_of_digest(path):
    row = re.compile(r'kind\("(.*?)", "(.*?)", "(.*?)", .*?, Some\((.*?)\)\)')
    return {(g, v, k): s for k, g, v, s in row.findall(open(path).read())}


def main():
    version, source = sys.argv[1:3]
    document = json.load(open(source))
    definitions = dict(document.get("definitions") or document["$defs"])
    definitions["krm.Kustomization"] = KUSTOMIZATION
    scopes = {**scopes_of(document), **SCOPES}
    kinds = {}
    for name, definition in definitions.items():
        for gvk in definition.get(GVK, []):
            if gvk["kind"] not in NOT_FILES:
                kinds[(gvk["group"], gvk["version"], gvk["kind"])] = name
    if len(scopes) == len(SCOPES):
        known = scopes_of_digest(sys.argv[3])
        for group, apiversion, kind in kinds:
            if not kind.endswith("List") and "kustomize" not in group:
                default = "Cluster" if kind in CLUSTER else "Namespaced"
                scopes.setdefault((group, apiversion, kind), known.get((group, apiversion, kind), default))
    types = Types(definitions)
    types.describe_all(kinds.values())
    number = types.numbers()

    print(f"// The types of Kubernetes {version}; made by data/generate.py, not by hand.")
    print("pub(super) static TYPES: &[Type] = &[")
    last = -1
    for name in sorted(number, key=lambda n: (number[n], n)):
        if number[name] == last:
            continue
        last = number[name]
        fields, values, items, merge = types.described[name]
        row = ", ".join(f'"{f}" {number[n]}' for f, n in sorted(fields.items()))
        option = lambda n: f"Some({number[n]})" if n else "None"
        keys = "" if merge is None else ", merge [%s]" % ", ".join(f'"{k}"' for k in merge)
        print(f"    ty!([{row}], {option(values)}, {option(items)}{keys}),")
    print("];")
    print("pub(super) static KINDS: &[KnownKind] = &[")
    for group, apiversion, kind in sorted(set(kinds) | set(scopes), key=lambda k: (k[2], k[0], k[1])):
        key = (group, apiversion, kind)
        root = f"Some({number[kinds[key]]})" if key in kinds else "None"
        scope = f"Some({scopes[key]})" if key in scopes else "None"
        print(f'    kind("{kind}", "{group}", "{apiversion}", {root}, {scope}),')
    print("];")
    print("pub(super) static NAMES: &[Field] = &[")
    for name in sorted(number):
        # A name that leads to nothing, or to a list of resources, is as good as an unknown one.
        if "." in name and not name.startswith("krm.") and number[name] and not name.endswith("List"):
            print(f'    name("{name}", {number[name]}),')
    print("];")


main()
