"""A testee that reads messages of one byte, and fails in every possible way; the mode selects which."""

from __future__ import annotations

import json
import os
import sys
import time

mode, after = sys.argv[1], int(sys.argv[2])
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if asked["do"] == "hello":
        does = ["decode", "encode", "round_trip"]
        answer |= {"protocol": 1, "name": "<b>broken</b>", "language": "Python", "version": "3", "does": does}
    elif number >= after and mode == "hang":
        time.sleep(600)
    elif number >= after and mode == "crash":
        sys.exit("<i>it fell</i>")
    elif number >= after and mode == "die":
        os.abort()
    elif number >= after and mode == "memory":
        held = bytearray(300 << 20)
        held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])
        time.sleep(600)
    elif number >= after and mode == "babble":
        print("not JSON", flush=True)
        continue
    elif number >= after and mode == "endless":
        while True:
            print("x" * (1 << 20), end="", flush=True)
    elif number >= after and mode == "lists":
        print(f'{{"id": {asked["id"]}, "value": [{"[]," * 3_000_000}0]}}', flush=True)
        continue
    elif asked["do"] == "encode":
        value = asked["value"]["number"]
        answer |= {"bytes": f"{value:02x}"} if value < 256 else {"error": {"code": "not_encodable"}}
    elif len(asked["bytes"]) < 2:
        answer["error"] = {"code": "truncated", "path": "number", "at": 0}
    elif asked.get("exact") and len(asked["bytes"]) > 2:
        answer["error"] = {"code": "malformed"}
    else:
        more = 1 if mode == "wrong" else 0
        answer |= {"value": {"number": int(asked["bytes"][:2], 16) + more}, "bytes": asked["bytes"][:2]}
    print(json.dumps(answer), flush=True)
