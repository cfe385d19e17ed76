#!/bin/sh
# Says on standard error how it is configured.
input=$(cat)
printf '%s\n' "$input" | sed -n '/^functionConfig:/,$s/^    a: /configured by /p' >&2
printf '%s\n' "$input"
