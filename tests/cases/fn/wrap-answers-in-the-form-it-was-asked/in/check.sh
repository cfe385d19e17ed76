#!/bin/sh
cat <<END
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: looks fine
  severity: info
END
