#!/bin/sh
# Answers as older functions do: an older version, results in an object of their own, names under metadata.
sed 's/^apiVersion: config.kubernetes.io.*/apiVersion: config.kubernetes.io\/v1alpha1/'
cat <<'END'
results:
  name: check
  items:
  - message: too few
    severity: warn
    resourceRef:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: web
    field:
      path: spec.replicas
      currentValue: 1
      suggestedValue: 3
    file:
      path: web.yaml
END
