# A server whose calls forget what another has added to a file.
import asyncio
import json
import sys

file = sys.argv[1]


async def add(message):
    with open(file) as old:
        text = old.read()
    await asyncio.sleep(0)
    store(text + str(message["id"]))


def store(text):
    with open(file, "w") as new:
        new.write(text)


async def handle(line):
    message = json.loads(line)
    await add(message)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)


async def serve():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()
    while line := await reader.readline():
        tasks.add(asyncio.create_task(handle(line)))


asyncio.run(serve())
