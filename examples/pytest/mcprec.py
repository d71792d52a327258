"""Recorded MCP sessions in a test: drive plays the recorded client to a server under test, serve
the recorded server to a client under test. Copy this file into your project."""

import contextlib
import os
import signal
import subprocess

import pytest

PROGRAM = os.environ.get("MCPREC", "mcprec")


def judge(status, report, errors):
    """Map an exit code: 1 is a finding, which fails the test with the report; any other but 0 is
    a fault of the setup, such as a fixture or a server that is not there."""
    if status == 1:
        pytest.fail("the session is not as recorded:\n" + (report or errors), pytrace=False)
    if status != 0:
        raise RuntimeError(f"mcprec: exit code {status}: {errors}")


def drive(fixture, server, *flags):
    """Play the client of a fixture to the server, a list of words, and compare its answers."""
    run = subprocess.run([PROGRAM, "drive", *flags, str(fixture), "--", *server], capture_output=True, text=True)
    judge(run.returncode, run.stdout, run.stderr)


@contextlib.contextmanager
def serve(fixture, *flags):
    """Play the server of a fixture over HTTP: the client under test connects to the URL. In the
    end the test fails if the client did not do as the recorded one did."""
    words = [PROGRAM, "serve", "--fail", "--listen", "127.0.0.1:0", *flags, str(fixture)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        except BaseException:
            server.kill()
            raise
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate()
    judge(server.returncode, "", errors)
