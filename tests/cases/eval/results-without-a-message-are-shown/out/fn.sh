#!/bin/sh
# What it has to say is in a field that results do not have.
cat
echo 'results: [{msg: no limits, severity: warning}]'
