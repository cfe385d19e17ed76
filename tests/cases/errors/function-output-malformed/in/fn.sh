#!/bin/sh
head -c 150
printf '\n  half: [a\n'
