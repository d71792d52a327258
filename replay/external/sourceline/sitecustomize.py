# Loaded by Python before the program, in a play whose finding mcprec has seen before. When SIGUSR2 comes, a file gets where
# each task and each thread stands, and for which request; what was last printed, and where; and what each request did to files.
import os
import sys

_folder = os.environ.get("MCPREC_SOURCE_LINES")


def _install():
    import asyncio
    import builtins
    import collections
    import contextvars
    import json
    import signal
    import sysconfig
    import threading
    import weakref

    cause = contextvars.ContextVar("mcprec_request", default=None)
    tasks = weakref.WeakKeyDictionary()  # each with the request that it works for
    threads = {}
    asked = {}
    requests = {}
    loads, dumps = json.loads, json.dumps

    def is_call(message):
        return isinstance(message, dict) and isinstance(message.get("method"), str) and message.get("id") is not None

    def parsing(*args, **kwargs):
        message = loads(*args, **kwargs)
        if is_call(message):
            cause.set({"id": message["id"], "method": message["method"]})
            requests[repr(message["id"])] = cause.get()
        elif isinstance(message, dict) and "method" not in message:
            asked.pop(repr(message.get("id")), None)
        return message

    def writing(message, *args, **kwargs):
        if is_call(message):
            asked[repr(message["id"])] = {"id": message["id"], "method": message["method"], "by": cause.get()}
        elif isinstance(message, dict) and "method" not in message and repr(message.get("id")) in requests:
            requests[repr(message["id"])]["answered"] = True
        return dumps(message, *args, **kwargs)

    json.loads, json.dumps = parsing, writing

    create = asyncio.BaseEventLoop.create_task

    def create_task(loop, *args, **kwargs):
        task = create(loop, *args, **kwargs)
        tasks[task] = cause.get()
        return task

    asyncio.BaseEventLoop.create_task = create_task
    start = threading.Thread.start

    def start_thread(thread):
        request = cause.get()
        start(thread)
        threads[thread.ident] = request

    threading.Thread.start = start_thread

    def frames_of(waiting):
        found = []
        while waiting is not None:
            for kind in ("cr", "gi", "ag"):
                frame = getattr(waiting, kind + "_frame", None)
                if frame is not None:
                    found.append(line_of(frame))
                    waiting = getattr(waiting, kind + ("_yieldfrom" if kind == "gi" else "_await"), None)
                    break
            else:
                break
        found.reverse()  # the innermost first
        return found

    def line_of(frame):
        return {"file": frame.f_code.co_filename, "line": frame.f_lineno, "function": frame.f_code.co_name}

    written = collections.deque(maxlen=200)
    show = builtins.print

    def printing(*args, **kwargs):
        if kwargs.get("file") in (None, sys.stdout):
            written.append({"text": (kwargs.get("sep") or " ").join(map(str, args))[:4096], "lines": stack_of(sys._getframe(1))})
        show(*args, **kwargs)

    builtins.print = printing

    uses = collections.deque(maxlen=1000)  # of files, in order

    def audited(event, args):
        if event in ("open", "os.rename", "os.remove") and cause.get() is not None:
            try:
                use(event, args)
            except Exception:  # the program comes first
                pass

    def use(event, args):
        if event == "open":
            name, mode, flags = args
            changes = any(c in "wax+" for c in mode) if mode else flags & (os.O_WRONLY | os.O_RDWR)
            done = [("wrote" if changes else "read", name)]
        elif event == "os.rename":
            done = [("removed", args[0]), ("wrote", args[1])]
        else:
            done = [("removed", args[0])]
        lines = stack_of(sys._getframe(2))
        for does, name in done:
            if isinstance(name, (str, bytes, os.PathLike)):  # not the number of an open file
                uses.append({"request": cause.get(), "does": does, "path": os.path.abspath(os.fsdecode(name)), "lines": lines})

    sys.addaudithook(audited)

    def stack_of(frame):
        lines = []
        while frame is not None:
            lines.append(line_of(frame))
            frame = frame.f_back
        return lines

    def answer(signum, interrupted):
        waits = []
        for task in list(tasks):
            if not task.done():
                waits.append({"request": tasks.get(task), "lines": frames_of(task.get_coro())})
        main = threading.main_thread().ident
        for ident, frame in sys._current_frames().items():
            lines = stack_of(interrupted if ident == main else frame)
            request = threads.get(ident)
            if ident == main:  # it works for the last message, or waits for the next
                last = cause.get()
                request = None if last in [wait["request"] for wait in waits] or last in threads.values() else last
            waits.append({"request": request, "lines": lines})
        path = os.path.join(_folder, str(os.getpid()))
        with open(path + ".part", "w") as out:
            told = {"waits": waits, "asked": list(asked.values()), "written": list(written), "uses": list(uses)}
            out.write(dumps({"library": sysconfig.get_path("stdlib"), **told}))
        os.replace(path + ".part", path + ".json")

    signal.signal(signal.SIGUSR2, answer)


if _folder:
    try:
        _install()
    except Exception as error:  # the program comes first
        print("mcprec: no lines of source: %s" % error, file=sys.stderr)

# The sitecustomize that this one stands before.
_here = os.path.dirname(os.path.abspath(__file__))
for _dir in sys.path:
    _next = os.path.join(_dir or ".", "sitecustomize.py")
    if os.path.abspath(_dir or ".") != _here and os.path.isfile(_next):
        with open(_next) as _source:
            exec(compile(_source.read(), _next, "exec"), {"__name__": "sitecustomize", "__file__": _next})
        break
