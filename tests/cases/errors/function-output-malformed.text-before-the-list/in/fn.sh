#!/bin/sh
echo hello
cat
