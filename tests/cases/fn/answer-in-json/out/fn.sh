#!/bin/sh
# Answers in JSON, which is YAML, and with nothing but the newer annotations.
cat >/dev/null
cat <<'END'
{"kind":"ResourceList","apiVersion":"config.kubernetes.io/v1","items":[
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","annotations":{"internal.config.kubernetes.io/path":"web.yaml","internal.config.kubernetes.io/index":"0","internal.config.kubernetes.io/id":"2"}},"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"web","image":"web:1"}]}}}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","annotations":{"internal.config.kubernetes.io/path":"web.yaml","internal.config.kubernetes.io/index":"1","internal.config.kubernetes.io/id":"3"}},"spec":{"ports":[{"port":80}]}},
{"apiVersion":"example.com/v1","kind":"Fn","metadata":{"name":"fn","annotations":{"config.kubernetes.io/local-config":"true","config.kubernetes.io/function":"exec: {path: in/fn.sh}\n","internal.config.kubernetes.io/path":"fn.yaml","internal.config.kubernetes.io/index":"0","internal.config.kubernetes.io/id":"1"}}}
]}
END
