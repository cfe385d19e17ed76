#!/bin/sh
# Gives every resource with a label `tier` the one its configuration names. A function reads a list of resources and prints
# it; this one is too short to be careful: see examples/functions for those that are.
list=$(cat)
tier=$(printf '%s\n' "$list" | sed -n '/^functionConfig:/,$ s/^ *tier: //p')
printf '%s\n' "$list" | sed "/^functionConfig:/q; s/^\( *\)tier: .*/\1tier: $tier/" | sed '$ { /^functionConfig:/d; }'
