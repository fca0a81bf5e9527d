"""Databases to test with: a file of SQLite, and a PostgreSQL server that the tests start."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """Where PostgreSQL's programs are: Debian does not put them on the path."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def _unprivileged() -> str | None:
    """A user that may run the server, which refuses to be run by root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


needs_postgres = pytest.mark.skipif(
    _programs() is None or find_spec("psycopg") is None,
    reason="no PostgreSQL server (Debian: postgresql), or no psycopg to reach it",
)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server of our own, which ends with the context."""
    programs = _programs()
    assert programs is not None, "tests that need it are marked"
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="tvm-pg-", dir="/tmp"))  # sockets have short names
    try:
        folder.chmod(0o755)
        data = folder / "data"
        data.mkdir()
        if user is not None:
            shutil.chown(data, user)
        settings = [programs / "initdb", "-D", data, "-U", "tuner", "-A", "trust", "--no-sync"]
        subprocess.run(settings, user=user, check=True, capture_output=True, cwd="/")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", data,
             "-c", "fsync=off"],
            user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _wait_for(port, server)
            yield f"postgresql://tuner@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)  # end at once
            server.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    import psycopg

    for _ in range(1200):
        assert server.poll() is None, "the server ended"
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(f"host=127.0.0.1 port={port} user=tuner dbname=postgres").close()
            return
        time.sleep(0.1)
    pytest.fail("the server does not answer")


def emptied(url: str) -> str:
    """The URL of a new database of the server."""
    import psycopg

    head, _, _ = url.rpartition("/")
    name = f"d{time.time_ns()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{head}/{name}"
