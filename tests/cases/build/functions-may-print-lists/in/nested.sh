#!/bin/sh
# Prints lists as items of a list.
cat >/dev/null
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: ConfigMapList
    items:
    - apiVersion: v1
      kind: ConfigMap
      metadata: {name: f}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: e}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: d}
END
