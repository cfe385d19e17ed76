#!/bin/sh
# Appends its name to the data of every ConfigMap it sees.
sed "s/^\( *\)log: \(.*\)/\1log: \2-$1/"
