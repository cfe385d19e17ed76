#!/bin/sh
# Someone saves the file while the function runs.
echo '# edited' >> in/app/a.yaml
sed s/one/two/
