#!/bin/sh
sed 's/replicas: 1/replicas: 3/;s/side:1/side:2/'
