#!/usr/bin/env python3
# Drops comments, reverses arguments and renames a container.
import re, sys
text = re.sub(r'\s+#.*', '', sys.stdin.read())
text = re.sub(r'( *- )--tls\n *- --port=80', r'\1--port=80\n\1--tls', text)
print(text.replace("name: old", "name: new"))
