#!/bin/sh
awk '/key: value/ { n++; sub("value", n) } { print }'
