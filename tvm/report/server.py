"""The page of a report behind a server on this machine, for one reader with the right address.

    http://127.0.0.1:41753/iQ3v...Zg/              the page
    http://127.0.0.1:41753/iQ3v...Zg/report.json   the report
    http://127.0.0.1:41753/iQ3v...Zg/trace.json    the same as trace events

The word in the address is random. Whoever does not have it gets 404, whatever is asked; a request
that names another host is refused, so that no page elsewhere can reach in by a name of its own.
"""

from __future__ import annotations

import json
import secrets
import socket
from typing import Any

from tvm.error import TVMError, message
from tvm.runtime.extras import extra_package

from .events import trace_events
from .page import page
from .words import Report

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def application(report: Report, token: str) -> Any:
    """The ASGI application that answers for a report."""
    starlette = _package("starlette.applications")
    responses, routing = _package("starlette.responses"), _package("starlette.routing")
    hosts = _package("starlette.middleware.trustedhost").TrustedHostMiddleware
    middleware = _package("starlette.middleware").Middleware
    contents = {
        "": (page(report), "text/html; charset=utf-8"),
        "report.json": (report.to_json(), "application/json"),
        "trace.json": (json.dumps(trace_events(report)), "application/json"),
    }

    async def answer(request: Any) -> Any:
        given, name = request.path_params["token"], request.path_params["name"]
        if not secrets.compare_digest(given.encode(), token.encode()) or name not in contents:
            return responses.PlainTextResponse("not found", 404, _HEADERS)
        content, kind = contents[name]
        return responses.Response(content, 200, _HEADERS, media_type=kind)

    return starlette.Starlette(
        routes=[routing.Route("/{token}/{name:path}", answer, methods=["GET"])],
        middleware=[middleware(hosts, allowed_hosts=["127.0.0.1", "localhost"])],
    )


class Server:
    """Serves a report until `stop`, or Ctrl-C; `url` is where."""

    def __init__(self, report: Report, port: int = 0) -> None:
        uvicorn = _package("uvicorn")
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen()  # who is told the address may ask before anybody answers
        except (OSError, OverflowError) as error:  # in use, or no number of a port
            self._socket.close()
            asked, legal = f"serve on port {port}", "a free port, or 0 for any"
            raise TVMError(message(asked, found=str(error), legal=legal)) from error
        token = secrets.token_urlsafe(18)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/{token}/"
        config = uvicorn.Config(application(report, token), log_level="warning", lifespan="off")
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer until somebody says stop."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._server.should_exit = True


def _package(name: str) -> Any:
    return extra_package(name, "view", "serving a page", "tvm view --out page.html")
