#!/bin/sh
printf 'a: \377\376\n'
