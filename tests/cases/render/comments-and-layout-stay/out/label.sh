#!/bin/sh
# Sets one label on every resource that has none yet.
awk '{ print } /^    name: / { print "    labels:"; print "      tier: web" }'
