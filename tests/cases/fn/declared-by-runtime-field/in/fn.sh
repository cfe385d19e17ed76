#!/bin/sh
# The field is for the orchestrator: the functionConfig comes without it.
awk '/^functionConfig/{config=1} config&&/runtime:/{exit 3} {sub(/log: start/,"log: done"); print}'
