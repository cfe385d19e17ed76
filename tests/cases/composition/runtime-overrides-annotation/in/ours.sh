#!/bin/sh
sed 's/theirs/ours/'
