#!/bin/sh
# Shows what configures it, as a resource.
echo 'kind: ResourceList'
sed -n '/^functionConfig/,$p' | sed 's/^functionConfig:/items:\n-/'
