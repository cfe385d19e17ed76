#!/bin/sh
cat
cat <<E
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: new
    namespace: shop
E
