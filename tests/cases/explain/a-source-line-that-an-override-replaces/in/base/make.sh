#!/bin/sh
cat <<'END'
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: made}
  data: {size: large}
END
