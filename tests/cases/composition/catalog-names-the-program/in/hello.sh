#!/bin/sh
sed 's/colour: .*/colour: green/'
