#!/bin/sh
sed -e 's/colour: .*/colour: green/'
