import json
import pathlib
import urllib.request

import pytest

from mcprec import PROGRAM, drive, serve

FIXTURE = pathlib.Path(__file__).parents[2] / "fixtures" / "seed.jsonl"


def test_server():
    drive(FIXTURE, [PROGRAM, "serve", str(FIXTURE)])  # here your server, as [sys.executable, "server.py"]


def test_server_that_differs():
    with pytest.raises(pytest.fail.Exception, match="the server ended the session early"):
        drive(FIXTURE, ["sh", "-c", "read line; exit 3"])
    with pytest.raises(RuntimeError, match="exit code 127"):
        drive(FIXTURE, ["no-such-server"])
    with pytest.raises(RuntimeError, match="exit code 2"):
        drive("no-such.jsonl", ["true"])


def session(url, text):
    """The client under test: here one of the standard library alone."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def say(message):
        request = urllib.request.Request(url, json.dumps({"jsonrpc": "2.0", **message}).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            headers.setdefault("Mcp-Session-Id", answer.headers.get("Mcp-Session-Id", ""))
            return answer.read().decode()

    say({"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "demo client", "version": "1.0.0"}}})
    say({"method": "notifications/initialized", "params": {}})
    return say({"id": 2, "method": "tools/call", "params": {
        "name": "count", "arguments": {"text": text}, "_meta": {"progressToken": "mine"}}})


def test_client():
    with serve(FIXTURE) as url:
        said = session(url, "hello, world")
    assert said.count("notifications/progress") == 2 and '"result"' in said


def test_client_that_differs():
    with pytest.raises(pytest.fail.Exception, match="no recorded answer for tools/call"):
        with serve(FIXTURE) as url:
            session(url, "something else")
