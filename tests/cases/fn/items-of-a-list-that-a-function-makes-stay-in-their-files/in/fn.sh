#!/bin/sh
# Prints what it is given as one document, a list, beside another.
sed -e 's/kind: ResourceList/kind: List/' -e 's/x: "1"/x: "2"/'
cat <<'END'
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
END
