#!/bin/sh
sed "s/old: hunter-one/old: hunter-three/; s/name: keys/name: other/"
