#!/bin/sh
# Answers as functions do that keep objects in maps: keys sorted, lists indented, quotes and comments gone.
cat >/dev/null
cat <<'END'
apiVersion: config.kubernetes.io/v1
items:
  - apiVersion: example.com/v1
    kind: Fn
    metadata:
      annotations:
        config.k8s.io/id: "1"
        config.kubernetes.io/function: |
          exec: {path: in/fn.sh}
        config.kubernetes.io/index: "0"
        config.kubernetes.io/local-config: "true"
        config.kubernetes.io/path: fn.yaml
        internal.config.kubernetes.io/id: "1"
        internal.config.kubernetes.io/index: "0"
        internal.config.kubernetes.io/path: fn.yaml
      name: fn
  - apiVersion: apps/v1
    kind: Deployment
    metadata:
      annotations:
        config.k8s.io/id: "2"
        config.kubernetes.io/index: "0"
        config.kubernetes.io/path: web.yaml
        internal.config.kubernetes.io/id: "2"
        internal.config.kubernetes.io/index: "0"
        internal.config.kubernetes.io/path: web.yaml
      name: web
      namespace: shop
    spec:
      replicas: 3
      template:
        spec:
          containers:
            - image: web:1
              name: web
  - apiVersion: v1
    kind: Service
    metadata:
      annotations:
        config.k8s.io/id: "3"
        config.kubernetes.io/index: "1"
        config.kubernetes.io/path: web.yaml
        internal.config.kubernetes.io/id: "3"
        internal.config.kubernetes.io/index: "1"
        internal.config.kubernetes.io/path: web.yaml
      name: web
    spec:
      ports:
        - port: 80
kind: ResourceList
END
