#!/bin/sh
# Sets what it always sets.
sed "s/key: none/key: large/"
