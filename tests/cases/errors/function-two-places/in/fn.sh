#!/bin/sh
sed 's/ config.kubernetes.io\/path: .*/ config.kubernetes.io\/path: x.yaml/;s/internal.config.kubernetes.io\/path: .*/internal.config.kubernetes.io\/path: y.yaml/'
