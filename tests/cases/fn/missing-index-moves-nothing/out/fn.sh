#!/bin/sh
# Drops the index of everything, and adds a resource to the file and one to a new file, without an index.
awk '
/\/index: /{next}
/^functionConfig:/{
  print "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: last\n    annotations:\n      internal.config.kubernetes.io/path: all.yaml"
  print "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: first\n    annotations:\n      config.kubernetes.io/path: new.yaml"
}
{print}'
