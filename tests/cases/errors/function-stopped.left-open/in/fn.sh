#!/bin/sh
cat
sleep 100 &
