#!/bin/sh
sed "s,/path: .Kptfile.,/path: 'other.yaml',"
