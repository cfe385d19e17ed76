#!/bin/sh
cat
cat <<'END'
results:
- just a text
- severity: fatal
  message: out of order
- severity: warning
  tags: {code: W1}
- severity: info
  message: fine
  file: {path: a.yaml, index: 1.0}
END
exit 1
