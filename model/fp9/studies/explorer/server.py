"""Local web server of `fp9 explore`, which accepts connections from this machine only."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from bottle import Bottle, HTTPResponse, request

from fp9.studies.explorer.page import page

HOST = "127.0.0.1"
# Entry points whose functions answer requests to `/api/NAME`. Each takes a dictionary of texts and returns a record.
ANSWERS = "fp9.explorer"


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Suppress the server's log lines, because the command prints its own messages."""


def application() -> Bottle:
    """Return a WSGI application with the page at `/`, and data about units under `/api/`."""
    app = Bottle()
    text, points = page(), entry_points(group=ANSWERS)
    app.route("/", callback=lambda: HTTPResponse(text, headers={"Content-Type": "text/html; charset=utf-8"}))
    app.route("/api/", callback=_answering(lambda: sorted(points.names)))
    for point in points:
        app.route(f"/api/{point.name}", callback=_answering(functools.partial(_asked, point)))
    return app


def serve(port: int) -> WSGIServer:
    """Return an HTTP server for the page, on any free port if `port` is 0."""
    return make_server(HOST, port, application(), handler_class=_Quiet)


def _answering(answer: Callable[[], Any]) -> Callable[[], HTTPResponse]:
    def respond() -> HTTPResponse:
        try:
            status, found = 200, answer()
        except (ValueError, TypeError) as error:
            status, found = 400, {"error": str(error)}
        return HTTPResponse(json.dumps(found), status, {"Content-Type": "application/json"})

    return respond


def _asked(point: EntryPoint) -> Any:
    try:
        answer = point.load()
    except ModuleNotFoundError as error:
        raise ValueError(f"{error.name} is not installed; install fp9 with its extras rtl and explore") from error
    return answer(dict(request.query.decode()))
