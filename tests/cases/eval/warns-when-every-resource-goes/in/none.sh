#!/bin/sh
cat > /dev/null
echo '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}'
