py
#!/usr/bin/env python3
# rye:unsigned
# /// rye
# description: Counts
# input_schema: {type: object}
# ///
print(1)
