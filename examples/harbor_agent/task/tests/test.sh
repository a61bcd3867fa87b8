#!/bin/bash
# The reward is 1 when the file says hello.
[ "$(cat /app/hello.txt)" = hello ]
echo $((1 - $?)) > /logs/verifier/reward.txt
