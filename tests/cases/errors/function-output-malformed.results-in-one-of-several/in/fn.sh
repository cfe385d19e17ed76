#!/bin/sh
cat >/dev/null
cat <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- {message: all is lost, severity: error}
END
