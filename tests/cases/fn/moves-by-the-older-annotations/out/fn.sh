#!/bin/sh
# Knows only the older annotations, and changes those.
awk '/^- /{service=0} /kind: Service/{service=1} service&&/ config.kubernetes.io\/path:/{sub(/web.yaml/,"service.yaml")} service&&/ config.kubernetes.io\/index:/{sub(/1/,"0")} {print}'
