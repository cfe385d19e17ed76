#!/bin/sh
cat >/dev/null
i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo "line $i" >&2; done
exit 3
