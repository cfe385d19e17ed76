#!/bin/sh
at() {
  echo "- {apiVersion: v1, kind: ConfigMap, metadata: {name: $1, annotations: {internal.config.kubernetes.io/path: $2, internal.config.kubernetes.io/index: '$3'}}}"
}
while IFS= read -r line; do
  printf "%s\\n" "$line"
  if [ "$line" = items: ]; then
    at b app.json 1
    at c new.json 0
    at d new.json 1
  fi
done
