#!/bin/sh
# Says on standard error what it is given as its configuration.
input=$(cat)
printf '%s\n' "$input" | sed -n '/^functionConfig:/,$s/^    name: /name: /p' >&2
printf '%s\n' "$input"
