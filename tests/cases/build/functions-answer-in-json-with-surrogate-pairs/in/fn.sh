#!/bin/sh
# Answers as a program does whose JSON is all ASCII.
cat >/dev/null
cat <<'END'
{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"face":"\ud83d\ude00"}}]}
END
