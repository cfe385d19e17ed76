#!/bin/sh
sed 's/internal.config.kubernetes.io\/id:/internal.config.kubernetes.io\/mine: x\n      &/'
