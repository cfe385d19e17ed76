#!/bin/sh
echo 'my reason' >&2
exit 5
