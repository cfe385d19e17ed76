#!/bin/sh
cat > /dev/null
cat <<YAML
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: batch/v1
  kind: Job
  metadata:
    name: migrate
    annotations:
      kustomize.config.k8s.io/needs-hash: "true"
  spec:
    # The order of keys, comments and lines do not count.
    template: {spec: {containers: [{name: migrate, image: "example.com/migrate:1"}]}}
YAML
