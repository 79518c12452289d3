#!/bin/sh
# /// rye
# description: Says how many words a file has.
# version: "0.1.0"
# timeout_seconds: 60
# input_schema:
#   type: object
#   properties:
#     path: {type: string, description: "The file, relative to the project."}
#   required: [path]
#   additionalProperties: false
# ///
# The arguments are one JSON object on standard input. For more than one simple text, write the tool in another language.
path=$(sed -n 's/.*"path" *: *"\([^"\\]*\)".*/\1/p')
wc -w < "$path"
