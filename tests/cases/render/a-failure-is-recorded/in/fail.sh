#!/bin/sh
cat >/dev/null
echo "no such tier" >&2
exit 3
