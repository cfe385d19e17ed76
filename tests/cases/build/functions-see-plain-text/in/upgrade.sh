#!/bin/sh
# A line of its own, without quotes, whatever the file looks like.
exec sed 's|^\( *[- ] \)image: example.com/web:1$|\1image: example.com/web:2|'
