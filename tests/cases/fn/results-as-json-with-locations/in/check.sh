#!/bin/sh
cat
cat <<'END'
results:
- message: must be even
  severity: warning
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}
  field: {path: data.size}
END
