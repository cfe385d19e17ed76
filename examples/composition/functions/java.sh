#!/bin/sh
# Stands in for an image that makes a Java application: reads its functionConfig, gives a Deployment and a Service.
input=$(cat)
config=$(printf '%s\n' "$input" | sed -n '/^functionConfig:/,$p')
field() { printf '%s\n' "$config" | sed -n "s/^ *$1: *//p" | head -n 1; }
name=$(field name) application=$(field application) version=$(field version)
cat <<YAML
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: $name
  spec:
    selector:
      matchLabels:
        app: $name
    template:
      metadata:
        labels:
          app: $name
      spec:
        containers:
        - name: java
          image: registry.example.com/$application:$version
- apiVersion: v1
  kind: Service
  metadata:
    name: $name
  spec:
    selector:
      app: $name
    ports:
    - port: 80
YAML
