#!/bin/sh
# Stands in for an image that gives every workload a logging sidecar.
sed -E 's/^( *)containers:$/&\n\1- name: logger\n\1  image: registry.example.com\/logger:v1/'
