#!/bin/sh
cat
cat <<'END'
results:
- message: too small
  severity: error
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}
  field: {path: data.key}
  file: {path: a.yaml}
- message: noted
  severity: info
END
echo 'one of them is too small' >&2
exit 1
