#!/bin/sh
cat >/dev/null
echo waiting >&2
sleep 100
