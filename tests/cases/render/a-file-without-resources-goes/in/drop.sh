#!/bin/sh
# Removes the ConfigMap called a.
awk '/^- /{if (item !~ /name: .?a.?\n/) printf "%s", item; item=""} {if (seen) item = item $0 "\n"; else print} /^items:/{seen=1} END{if (item !~ /name: .?a.?\n/) printf "%s", item}'
