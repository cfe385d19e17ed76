#!/bin/sh
awk '/^- /{if(item!~/name: gone/)printf "%s",item; item=""} /^functionConfig/{if(item!~/name: gone/)printf "%s",item; item=""; rest=1} {if(rest||!/^[- ]/)print; else item=item $0 "\n"}'
