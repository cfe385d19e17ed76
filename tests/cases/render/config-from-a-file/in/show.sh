#!/bin/sh
tee in.tmp; grep -A9 functionConfig in.tmp >&2; rm in.tmp
