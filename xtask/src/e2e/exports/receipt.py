"""Verifies a receipt with securesystemslib and in-toto-attestation, and checks that each changed byte is refused.

Usage: receipt.py RECEIPT TRANSCRIPT PUBLIC_KEY
"""

import base64
import hashlib
import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf.json_format import ParseDict
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementMessage
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

receipt, transcript, public_key = sys.argv[1:]
text = open(receipt, "rb").read()
lines = open(transcript, "rb").read()
pem = open(public_key, "rb").read()
key = SSlibKey.from_crypto(load_pem_public_key(pem), keyid=hashlib.sha256(pem).hexdigest()[:16])


def verified(data: bytes) -> tuple[str, bytes, str]:
    """The type, the payload and the signature of an envelope that the key signed."""
    envelope = Envelope.from_dict(json.loads(data))
    accepted = envelope.verify([key], 1)
    [signature] = [envelope.signatures[keyid].signature for keyid in accepted]
    return envelope.payload_type, envelope.payload, signature


expected = verified(text)
payload_type, payload, _ = expected
assert payload_type == "application/vnd.in-toto+json", payload_type

message = ParseDict(json.loads(payload), StatementMessage())
statement = Statement.copy_from_pb(message)
statement.validate()
assert statement.pb.predicate_type == "https://github.com/rye-os/rye/receipt/v1"
subjects = {subject.name: subject.digest["sha256"] for subject in statement.pb.subject}
assert subjects["transcript.jsonl"] == hashlib.sha256(lines).hexdigest(), "the transcript is another one"

# The outputs as the transcript has them.
records = [json.loads(line) for line in lines.splitlines()]
ends = [record["payload"] for record in records if record["event"] == "thread_complete"]
outputs = (ends[-1].get("outputs") or {}) if ends else {}
for name, value in outputs.items():
    encoded = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert subjects.pop(f"outputs/{name}") == hashlib.sha256(encoded.encode()).hexdigest(), name
assert list(subjects) == ["transcript.jsonl"], subjects

# A changed byte is refused, or it spells the same type, payload and signature in another way.
respelled = 0
for place in range(len(text)):
    for byte in {text[place] ^ 1, text[place] ^ 0x20}:
        changed = text[:place] + bytes([byte]) + text[place + 1 :]
        try:
            assert verified(changed) == expected, f"byte {place} as {bytes([byte])!r}"
        except AssertionError:
            raise
        except Exception:  # Each library that meets the byte has errors of its own.
            continue
        respelled += 1
assert respelled < 8, respelled

for place in range(0, len(lines), max(1, len(lines) // 4096)):
    changed = lines[:place] + bytes([lines[place] ^ 1]) + lines[place + 1 :]
    assert hashlib.sha256(changed).hexdigest() != hashlib.sha256(lines).hexdigest()

print(f"{receipt}: verified, {2 * len(text)} changed bytes refused or only spelled otherwise ({respelled})")
assert base64.b64decode(json.loads(text)["payload"]) == payload
