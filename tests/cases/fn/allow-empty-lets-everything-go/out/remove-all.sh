#!/bin/sh
cat > /dev/null
printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n'
