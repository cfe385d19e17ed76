#!/bin/sh
# Makes so many replicas of so many.
sed "s/replicas: $1/replicas: $2/"
