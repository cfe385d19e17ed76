#!/bin/sh
# Prints a list among other documents, with a merge key in it.
cat >/dev/null
cat <<'END'
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, labels: &labels {tier: web}}
  data:
    <<: *labels
    x: y
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
END
