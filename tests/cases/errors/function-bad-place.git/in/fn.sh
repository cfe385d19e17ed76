#!/bin/sh
sed 's/kubernetes.io\/path: .*a.yaml.*/kubernetes.io\/path: sub\/.GIT\/hooks\/post-checkout/'
