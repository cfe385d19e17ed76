#!/bin/bash
# Generates a Service and a Deployment from a functionConfig of kind Nginx.
#
# The script runs itself again under `krm fn wrap`, which reads the ResourceList, puts the scalars of the functionConfig into
# the environment (NAME, REPLICAS), and merges what the script prints into the resources there are.
if [ -z "${WRAPPED}" ]; then
  export WRAPPED=true
  krm fn wrap -- "$0"
  exit $?
fi

cat <<END
apiVersion: v1
kind: Service
metadata:
  name: ${NAME}
  labels:
    app: nginx
    instance: ${NAME}
spec:
  ports:
  - name: http
    port: 80
    targetPort: 80
  selector:
    app: nginx
    instance: ${NAME}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${NAME}
  labels:
    app: nginx
    instance: ${NAME}
spec:
  replicas: ${REPLICAS}
  selector:
    matchLabels:
      app: nginx
      instance: ${NAME}
  template:
    metadata:
      labels:
        app: nginx
        instance: ${NAME}
    spec:
      containers:
      - name: nginx
        image: nginx:1.27
        ports:
        - containerPort: 80
END
