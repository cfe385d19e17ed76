#!/bin/sh
sed "s/key: value/key: refreshed/"
