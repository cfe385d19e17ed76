#!/usr/bin/env python3
"""Write configuration to measure with.

usage: workload.py KIND N DIR

  overlay   N services of four resources under one overlay that changes all of them   -> DIR/top
  flat      N services in one file, nothing to change                                 -> DIR
  deep      20 services under N overlays, one upon the other                          -> DIR/N
  fleet     20 services and N overlays side by side                                   -> DIR/site-*
  refs      N config maps and N secrets with hashed names, each named in three places -> DIR
"""
import pathlib
import sys

KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

SERVICE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: svc-{i}
  labels: {{svc: svc-{i}}}
spec:
  replicas: 2
  selector:
    matchLabels: {{svc: svc-{i}}}
  template:
    metadata:
      labels: {{svc: svc-{i}}}
    spec:
      serviceAccountName: account-{i}
      containers:
      - name: server
        image: registry.test/server:{i}
        envFrom:
        - configMapRef: {{name: conf-{i}}}
        ports:
        - containerPort: 9000
        resources:
          limits:
            cpu: 500m
            memory: 256Mi
---
apiVersion: v1
kind: Service
metadata:
  name: svc-{i}
spec:
  selector: {{svc: svc-{i}}}
  ports:
  - port: 80
    targetPort: 9000
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: account-{i}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: conf-{i}
data:
  number: "{i}"
  verbose: "false"
"""

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: pod-{i}
spec:
  volumes:
  - name: conf
    configMap: {{name: conf-{i}}}
  - name: keys
    secret: {{secretName: keys-{i}}}
  containers:
  - name: main
    image: registry.test/main:1
    env:
    - name: VALUE
      valueFrom:
        configMapKeyRef: {{name: conf-{i}, key: value}}
    envFrom:
    - configMapRef: {{name: conf-{next}}}
    - secretRef: {{name: keys-{next}}}
"""


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def services(folder, n):
    put(folder / "services.yaml", "---\n".join(SERVICE.format(i=i) for i in range(n)))
    put(folder / "kustomization.yaml", KUSTOMIZATION + "resources: [services.yaml]\n")


def overlay(folder, n):
    services(folder / "base", n)
    put(folder / "top" / "kustomization.yaml", KUSTOMIZATION + """\
resources: [../base]
namespace: live
namePrefix: live-
commonAnnotations: {owner: platform}
labels:
- pairs: {stage: live}
  includeSelectors: true
images:
- name: registry.test/server
  newTag: stable
configMapGenerator:
- name: shared
  literals: [REGION=north, TIER=gold]
patches:
- target: {kind: Deployment}
  patch: |-
    - op: add
      path: /spec/template/spec/containers/0/env
      value: [{name: STAGE, value: live}]
""")


def deep(folder, n):
    services(folder / "0", 20)
    for i in range(1, n + 1):
        put(folder / str(i) / "kustomization.yaml", KUSTOMIZATION + f"""\
resources: [../{i - 1}]
namePrefix: l{i}-
labels:
- pairs: {{layer-{i}: seen}}
patches:
- target: {{kind: Deployment, labelSelector: svc=svc-7}}
  patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: whatever
      annotations: {{layer-{i}: patched}}
""")


def fleet(folder, n):
    services(folder / "base", 20)
    for i in range(n):
        put(folder / f"site-{i}" / "kustomization.yaml", KUSTOMIZATION + f"""\
resources: [../base]
namespace: site-{i}
nameSuffix: -s{i}
images:
- name: registry.test/server
  newTag: s{i}
""")


def refs(folder, n):
    made = lambda kind, name: f"{kind}:\n" + "".join(f"- name: {name}-{i}\n  literals: [value={i}]\n" for i in range(n))
    put(folder / "kustomization.yaml", KUSTOMIZATION + "namePrefix: my-\nresources: [pods.yaml]\n"
        + made("configMapGenerator", "conf") + made("secretGenerator", "keys"))
    put(folder / "pods.yaml", "---\n".join(POD.format(i=i, next=(i + 1) % n) for i in range(n)))


if __name__ == "__main__":
    kinds = {f.__name__: f for f in (overlay, deep, fleet, refs)} | {"flat": services}
    if len(sys.argv) != 4 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    kinds[sys.argv[1]](pathlib.Path(sys.argv[3]), int(sys.argv[2]))
