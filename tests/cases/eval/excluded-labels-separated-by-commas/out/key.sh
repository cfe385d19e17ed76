#!/bin/sh
sed "s/key: value/key: changed/"
