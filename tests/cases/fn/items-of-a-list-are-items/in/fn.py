#!/usr/bin/env python3
# Changes every ConfigMap it is given, and fails when given a list.
import sys
text = sys.stdin.read()
if "kind: List" in text or "kind: ConfigMapList" in text:
    sys.exit("a list is not a resource")
print(text.replace('x: "1"', 'x: "2"'))
