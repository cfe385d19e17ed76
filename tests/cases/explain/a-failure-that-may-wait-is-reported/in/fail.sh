#!/bin/sh
echo 'not good' >&2
exit 3
