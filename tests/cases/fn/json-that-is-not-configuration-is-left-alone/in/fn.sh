#!/bin/sh
sed 's/"v": "1"/"v": "2"/'
