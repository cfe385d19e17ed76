#!/bin/sh
echo "a is not three" >&2
exit 3
