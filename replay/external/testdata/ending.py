# A server that answers each request but the call of work. Its argument says what it does at its end.
import json
import signal
import sys
import threading

fault = sys.argv[1]
reasons = []  # to stay
if fault == "swallows SIGTERM":
    signal.signal(signal.SIGTERM, lambda *_: None)
if fault == "stays at SIGTERM":
    signal.signal(signal.SIGTERM, lambda *_: reasons.append(fault))
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or message.get("params", {}).get("name") == "work":
        continue
    try:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
    except BrokenPipeError:
        if fault == "stays without output":
            reasons.append(fault)
        elif fault != "ignores a broken pipe":
            raise
if reasons:
    threading.Event().wait()
