#!/usr/bin/env python3
import sys
print(sys.stdin.read().replace('x: "1"', 'x: "2"'))
