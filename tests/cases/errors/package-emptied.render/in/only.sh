#!/bin/sh
# The Kptfile is the first of the items.
awk '/^- /{n++} n<2'
