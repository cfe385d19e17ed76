#!/bin/sh
# Says on standard error what its configuration holds.
input=$(cat)
printf '%s\n' "$input" | sed -n 's/^    \(flag\|number\|octal\|nothing\):/\1:/p' >&2
printf '%s\n' "$input"
