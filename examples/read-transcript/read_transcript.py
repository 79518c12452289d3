"""Verifies the transcripts of a thread tree and prints their costs.

    python3 read_transcript.py THREAD_FOLDER [KEY.pem ...]

Written from `docs/transcript.md` alone. Without keys, every key that a thread names is accepted, so the result only shows that the
files were not changed since they were signed. Needs Python 3.9 and the package `cryptography`.
"""
import base64
import hashlib
import json
import pathlib
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

OPENING = {"thread_start", "thread_resumed", "system_prompt", "context_injected", "user_message", "checkpoint"}
NEEDS_CHECKPOINT = {"thread_start", "thread_resumed", "approval_decided", "thread_complete", "thread_error", "thread_continued"}


class Refused(Exception):
    """The transcript was changed, or cannot be read."""


def verify_signature(pem, message, signature):
    if "=" in signature or len(signature) != 86:
        raise Refused("a signature is not written as this format writes it")
    try:
        key = serialization.load_pem_public_key(pem.encode())
        key.verify(base64.urlsafe_b64decode(signature + "=="), message.encode())
    except (InvalidSignature, ValueError, AttributeError) as error:
        raise Refused("a signature does not verify") from error


def key_ids(pem):
    raw = serialization.load_pem_public_key(pem.encode()).public_bytes_raw()
    return {hashlib.sha256(pem.encode()).hexdigest()[:16], hashlib.sha256(raw).hexdigest()}


class Transcript:
    """The verified records of one thread."""

    def __init__(self, folder, keys):
        self.thread, self.keys = folder.name, dict(keys)
        self.any_key = not keys
        claim = self.read_claim(folder / "thread.json")
        self.records, self.heads = [], [hashlib.sha256(b"rye-chain-v1").hexdigest()]
        self.signed, self.named, first_uncovered = 0, None, None
        for line in (folder / "transcript.jsonl").read_bytes().split(b"\n")[:-1]:
            record = json.loads(line)
            self.check_place(record)
            if record["event"] == "checkpoint":
                self.check_checkpoint(record["payload"])
                first_uncovered = None
            elif self.signed == 0 and record["event"] not in OPENING:
                raise Refused(f"record {record['seq']}: nothing may happen before the first checkpoint")
            elif record["event"] in NEEDS_CHECKPOINT and first_uncovered is None:
                first_uncovered = len(self.records)
            if record["event"] in {"thread_start", "thread_resumed"}:
                self.name_key(record["payload"]["signed_by"])
            text = f"rye-chain-v1\n{self.heads[-1]}\n".encode() + line
            self.heads.append(hashlib.sha256(text).hexdigest())
            self.records.append(record)
        if first_uncovered is not None:
            del self.records[first_uncovered:], self.heads[first_uncovered + 1:]
        if not self.signed:
            raise Refused("no checkpoint signs how the thread began")
        self.check_claim(claim)

    def check_place(self, record):
        seq = len(self.records)
        if (record["seq"], record["thread_id"], record["prev"]) != (seq, self.thread, self.heads[-1]):
            raise Refused(f"record {seq}: it does not follow from the records before it")
        start = (record["event"], record["payload"].get("format"), record["payload"].get("version"))
        if seq == 0 and start != ("thread_start", "rye-transcript", 2):
            raise Refused("it is no transcript of version 2")

    def name_key(self, pem):
        self.named = key_ids(pem)
        if self.any_key:
            self.keys.update(dict.fromkeys(self.named, pem))

    def check_checkpoint(self, payload):
        place = (payload["format"], payload["thread"], payload["seq"], payload["head"])
        if place != ("rye-checkpoint-v1", self.thread, len(self.records), self.heads[-1]):
            raise Refused(f"the checkpoint at {payload['seq']} signs other records")
        if payload["key_id"] not in self.keys or self.named and payload["key_id"] not in self.named:
            raise Refused(f"the checkpoint at {payload['seq']} is by another key")
        verify_signature(self.keys[payload["key_id"]], "\n".join(map(str, place)), payload["signature"])
        self.signed, self.named = payload["seq"], None

    def read_claim(self, path):
        if not path.exists():
            return None
        summary = json.loads(path.read_text())
        words = summary.pop("_signature").split(":")
        scheme, time, digest, signature, key_id = ":".join(words[:2]), ":".join(words[2:-3]), *words[-3:]
        if self.any_key:
            signed_by = summary["facts"]["signed_by"]
            for pem in [signed_by["public_key"], *signed_by.get("earlier", [])]:
                self.keys.update(dict.fromkeys(key_ids(pem), pem))
        text = json.dumps(summary, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        if scheme != "rye:signed" or hashlib.sha256(text.encode()).hexdigest() != digest or key_id not in self.keys:
            raise Refused("thread.json was changed, or signed by another key")
        verify_signature(self.keys[key_id], f"rye-json-v1\n{time}\n{digest}", signature)
        if (summary["format"], summary["thread_id"]) != ("rye-thread", self.thread):
            raise Refused("thread.json is of another thread")
        return summary["transcript"]

    def check_claim(self, claim):
        if claim is None:
            return
        records, count = claim["records"], len(self.records)
        if count < records or self.heads[records] != claim["head"] or (records < count and not claim.get("open")):
            raise Refused("the transcript is not the one that thread.json claims")

    def of(self, *events):
        return [record["payload"] for record in self.records if record["event"] in events]

    def cost(self):
        """The cost of its own requests in billionths of a dollar."""
        total = open_reservation = 0
        for step in self.of("step_start", "step_finish", "request_failed", "request_retried"):
            total += step.get("cost_nanos") or 0
            open_reservation = step.get("reserved_nanos") or 0
        return total + open_reservation


def cost_of_tree(folder, keys):
    """The cost of the thread, of its successors, and of all their descendants; prints a line for each."""
    transcript = Transcript(folder, keys)
    total = transcript.cost()
    print(f"{folder.name}: {len(transcript.records)} records, {transcript.signed} signed, own cost {total / 1e9:.9f} USD")
    ended = {child["thread"]: child["cost_nanos"] for child in transcript.of("child_ended")}
    for child in transcript.of("spawn_child"):
        below = folder.parent / child["thread"]
        total += ended[child["thread"]] if child["thread"] in ended else cost_of_tree(below, keys) if below.exists() else 0
    for next_thread in transcript.of("thread_continued"):
        below = folder.parent / next_thread["next"]
        total += cost_of_tree(below, keys) if below.exists() else 0
    return total


if __name__ == "__main__":
    pems = [pathlib.Path(path).read_text() for path in sys.argv[2:]]
    try:
        total_cost = cost_of_tree(pathlib.Path(sys.argv[1]).resolve(), {name: pem for pem in pems for name in key_ids(pem)})
    except (Refused, KeyError, TypeError, ValueError, OSError) as error:
        sys.exit(f"refused: {error or type(error).__name__}")
    print(f"cost {total_cost} nanos")
