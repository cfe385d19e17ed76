#!/bin/sh
exec sed "s/name: \(one\|two\)/name: new-\1/"
