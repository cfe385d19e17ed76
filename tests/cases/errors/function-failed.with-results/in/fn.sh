#!/bin/sh
cat
cat <<'END'
results:
- message: no good
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}
  field: {path: data.key}
END
exit 1
