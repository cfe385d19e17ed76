#!/bin/sh
cat
cat <<'END'
results:
- message: must be even
  severity: error
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}
  field: {path: data.size}
- message: consider a label
  severity: warning
END
exit 1
