# A server that asks its client in a call, and waits for nothing in another.
import asyncio
import json
import sys
import threading

waiting = {}


def out(message):
    print(json.dumps({"jsonrpc": "2.0", **message}) + "\n", end="", flush=True)  # in one write: a thread prints, too


async def ask(method):
    waiting[100] = asyncio.get_running_loop().create_future()
    out({"id": 100, "method": method})
    return await waiting[100]  # the answer never comes


async def tool(message):
    result = await ask("sampling/createMessage")
    out({"id": message["id"], "result": result})


async def slow(message):
    await helper()


async def helper():
    out({"method": "notifications/message"})
    await asyncio.Event().wait()


lock = threading.Lock()


def locked(message):
    out({"method": "notifications/message"})
    with lock:
        with lock:
            out({"id": message["id"], "result": {}})


async def main():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()
    while line := await reader.readline():
        message = json.loads(line)
        if message["method"] == "tools/call":
            tasks.add(asyncio.create_task(tool(message)))
        if message["method"] == "tools/slow":
            tasks.add(asyncio.create_task(slow(message)))
        if message["method"] == "tools/locked":
            threading.Thread(target=locked, args=(message,), daemon=True).start()


asyncio.run(main())
