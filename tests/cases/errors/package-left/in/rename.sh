#!/bin/sh
sed 's/a\.yaml/a.txt/'
