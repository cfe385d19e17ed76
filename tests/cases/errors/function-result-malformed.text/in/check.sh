#!/bin/sh
cat
echo 'results: everything is wrong'
exit 1
