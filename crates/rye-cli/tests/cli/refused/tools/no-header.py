import json, sys
print(json.dumps({"ok": True}))
