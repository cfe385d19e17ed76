#!/bin/sh
cat <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: $TEAM
END
