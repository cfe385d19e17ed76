#!/bin/sh
sed 's/name: [ab]$/&z/'
