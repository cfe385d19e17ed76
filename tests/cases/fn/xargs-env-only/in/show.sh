#!/bin/sh
for arg in "$@"; do echo "arg: $arg"; done
echo "NAME=$NAME REPLICAS=$REPLICAS"
cat
