#!/bin/sh
cat
cat <<'END'
results:
- message: only one replica
  severity: warning
  resourceRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  field: {path: spec.replicas, currentValue: 1, proposedValue: 3}
  file: {path: web.yaml}
- message: image without a digest
  resourceRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  field: {path: "spec.template.spec.containers[1].image"}
- message: looked at everything
  severity: info
END
