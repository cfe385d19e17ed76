#!/bin/sh
# The Service goes to a file of its own.
awk '/^- /{service=0} /kind: Service/{service=1} service&&/\/path:/{sub(/web.yaml/,"svc/service.yaml")} service&&/\/index:/{sub(/1/,"0")} {print}'
