#!/bin/sh
# /// rye
# descripton: Counts words.
# input_schema: {type: object}
# ///
wc -w
