#!/bin/sh
sed "s/name: keys/name: other/; s/aaa/xxx/"
