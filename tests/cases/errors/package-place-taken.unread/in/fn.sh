#!/bin/sh
cat >/dev/null
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: x
    annotations:
      config.kubernetes.io/path: x.txt
END
exit 0
