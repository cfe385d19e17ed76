#!/bin/sh
[ "$1" = --help ] && echo 'Sets the number of replicas.'
