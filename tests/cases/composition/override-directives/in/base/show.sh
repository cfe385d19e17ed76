#!/bin/sh
# Gives its own configuration back as a resource.
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: shown}
  data:
    config: |
END
sed -n '/^functionConfig:/,$p' | grep -v ' # ' | sed 's/^/      /'
