#!/bin/sh
sed 's/"a": "1"/"a": "3"/'
