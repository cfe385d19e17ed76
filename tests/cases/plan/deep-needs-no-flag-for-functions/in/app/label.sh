#!/bin/sh
# Sets the label `team` to what the configuration says.
input=$(cat)
team=$(printf '%s\n' "$input" | sed -n 's/.*"*team"*: *"*\(app\|prod\)"*.*/\1/p' | tail -1)
printf '%s\n' "$input" | sed "s/nobody/$team/"
