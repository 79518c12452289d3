#!/usr/bin/env python3
# /// rye
# description: Says how many words a text has.
# version: "0.1.0"
# timeout_seconds: 60
# input_schema:
#   type: object
#   properties:
#     text: {type: string, description: The text.}
#   required: [text]
#   additionalProperties: false
# ///
import json
import sys

arguments = json.load(sys.stdin)
print(json.dumps({"words": len(arguments["text"].split())}))
