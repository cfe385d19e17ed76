#!/bin/sh
cat <<END
kind: Deployment
apiVersion: apps/v1
metadata:
  name: ${NAME}
spec:
  replicas: ${REPLICAS}
  template:
    spec:
      containers:
      - image: nginx:1.1
        name: nginx
---
apiVersion: v1
kind: Service
metadata:
  name: ${NAME}
spec:
  selector:
    app: ${NAME}
END
