#!/bin/sh
sed "s/key: value/key: other/"
