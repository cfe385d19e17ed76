#!/bin/sh
for arg in "$@"; do echo "arg: $arg"; done
echo "NAME=$NAME REPLICAS=$REPLICAS"
echo "$KUST_FUNCTION_CONFIG" | head -2
cat
