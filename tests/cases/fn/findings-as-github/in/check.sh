#!/bin/sh
cat
cat <<'END'
results:
- message: too small
  severity: warning
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}
  field: {path: data.key}
- message: noted
  severity: info
END
