#!/bin/sh
echo "looked at all of it" >&2
cat
