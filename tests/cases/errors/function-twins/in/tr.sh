#!/bin/sh
cat >/dev/null
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: b
  data:
    key: value
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: b
  data:
    key: value
END
exit 0
