#!/usr/bin/env python3
# Knows nothing of comments and sorts keys: a JSON program that happens to be given YAML is like this.
import re, sys
text = sys.stdin.read()
text = re.sub(r'\s+#.*', '', text)
print(text.replace('replicas: 1', 'replicas: 2'))
