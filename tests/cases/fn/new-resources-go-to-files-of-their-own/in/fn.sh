#!/bin/sh
sed 's/^items:/items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: made}, data: {a: b}}/'
