#!/bin/sh
# Stands in for an image that lets a monitor watch the services: adds the monitor to the list.
input=$(cat)
prefix=$(printf '%s\n' "$input" | sed -n '/^functionConfig:/,$p' | sed -n 's/^ *prefix: *//p')
printf '%s\n' "$input" | awk -v name="${prefix}metrics" '
  { print }
  /^items:/ {
    print "- apiVersion: monitoring.example.com/v1"
    print "  kind: Monitor"
    print "  metadata:"
    print "    name: " name
  }'
