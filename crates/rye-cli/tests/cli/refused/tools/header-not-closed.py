# /// rye
# description: Counts words.
# input_schema: {type: object}
import json, sys
