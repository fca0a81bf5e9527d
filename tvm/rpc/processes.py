"""Servers and trackers as processes that end when whoever started them ends."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tvm.error import RPCError


def environment() -> dict[str, str]:
    """The environment of a process that is to find this very package."""
    home = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(p for p in (home, os.environ.get("PYTHONPATH", "")) if p)
    return {**os.environ, "PYTHONPATH": paths}


class Process:
    """A process that runs a module with options, and has said on which port it listens."""

    def __init__(self, module: str, options: Mapping[str, Any], silent: bool) -> None:
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(dict(options))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if silent else None,
            env=environment(),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline().decode().strip()
        if not said.startswith("port "):
            self.end()
            raise RPCError(said or f"{module} did not start")
        self.port = int(said.split()[1])

    def end(self) -> None:
        """End the process and those that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:  # else the number may be that of another process by now
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def __del__(self) -> None:
        with contextlib.suppress(ImportError, TypeError, AttributeError):  # at the end of Python
            self.end()


class HasProcess:
    """An object whose process ends with it."""

    proc: Any = None

    def terminate(self) -> None:
        """End the process."""
        if self.proc is not None:
            self.proc.end()
            self.proc = None

    def __del__(self) -> None:
        self.terminate()


def run_as_process(serve: Callable[..., Any]) -> None:
    """The other side of `Process`: serve with the options of the command line."""
    options = json.loads(sys.argv[1])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        serve(lambda port: print(f"port {port}", flush=True), **options)
    except RPCError as err:
        print(str(err).replace("\n", " "), flush=True)


def in_thread(serve: Callable[..., Any], state: Any, *args: Any) -> threading.Thread:
    """Serve in a thread of this process; `state.port` is the port, RPCError that there is none."""
    said: queue.Queue[int | RPCError] = queue.Queue()

    def run() -> None:
        try:
            serve(said.put, *args)
        except RPCError as err:
            said.put(err)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    answer = said.get()
    if isinstance(answer, RPCError):
        raise answer
    state.port = answer
    return thread


def _end_with_parent() -> None:
    # returns when the other end of the pipe is closed; sys.stdin would keep a lock that a copy of
    # this process waits for
    os.read(0, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)
