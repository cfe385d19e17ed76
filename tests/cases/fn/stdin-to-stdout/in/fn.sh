#!/bin/sh
sed 's/replicas: 1/replicas: 3/'
