#!/bin/sh
cat
cat <<E
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: one
    annotations:
      internal.config.kubernetes.io/path: new.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: two
    annotations:
      internal.config.kubernetes.io/path: new.yaml
E
