#!/bin/sh
cat
cat <<END
results:
- message: the value is short
  severity: warning
  resourceRef:
    apiVersion: v1
    kind: ConfigMap
    name: cm
  field:
    path: data.a
- message: all else is well
  severity: info
END
