#!/bin/sh
sed "s/^    key: \(.*\)/    key: \1 $1/"
