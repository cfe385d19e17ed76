#!/bin/sh
cat
echo 'results: oops'
