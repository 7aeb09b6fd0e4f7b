"""Web server for the explorer's page and its requests. The server accepts connections from this machine only."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import PurePath
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from bottle import Bottle, HTTPResponse, request

from fp9.engines import ENGINES
from fp9.formats import TABLE_BITS, every_format
from fp9.rounding import Overflow, Rounding
from fp9.studies.explorer import numbers, shared_text, sums

HOST = "127.0.0.1"
ANSWERS = "fp9.explorer"
"""Entry point group. Each registered function answers requests to `/api/NAME`.

The function takes texts and returns a record.
"""

_FILES = ("page.html", "look.css", "page.css", "tables.js", "page.js", "unit.js")
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, since the command uses standard error."""


def application() -> Bottle:
    """Return a WSGI application that serves the page at `/`, its files, and JSON under `/api/`."""
    app = Bottle()
    for name in _FILES:
        app.route("/" if name == _FILES[0] else f"/{name}", callback=_file(name))
    app.route("/api/names", callback=_answering(_names))
    app.route("/api/precision", callback=_answering(lambda: numbers.precision()))
    app.route("/api/number", callback=_answering(_number))
    app.route("/api/sum", callback=_answering(_sum))
    for point in entry_points(group=ANSWERS):
        app.route(f"/api/{point.name}", callback=_answering(functools.partial(_asked, point)))
    return app


def serve(port: int) -> WSGIServer:
    """Return a server for the page. Port 0 means any free port. Call `serve_forever` to run it.

    Raises OSError if the port is in use.
    """
    return make_server(HOST, port, application(), handler_class=_Quiet)


def _file(name: str) -> Callable[[], HTTPResponse]:
    kind = _KINDS[PurePath(name).suffix]
    content = shared_text(name)
    return lambda: HTTPResponse(content, headers={"Content-Type": f"{kind}; charset=utf-8"})


def _answering(answer: Callable[[], Any]) -> Callable[[], HTTPResponse]:
    """Return a request handler that sends JSON. A ValueError or TypeError becomes status 400 with its message."""

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


def _names() -> dict[str, list[str]]:
    return {
        "formats": [fmt.name for fmt in every_format()],
        "operands": [fmt.name for fmt in every_format() if fmt.bits <= TABLE_BITS],
        "engines": list(ENGINES),
        "roundings": [numbers.OWN, *(mode.value for mode in Rounding)],
        "overflow": [policy.value for policy in Overflow],
    }


def _number() -> dict[str, Any]:
    given = request.query
    random = given.random or "0"
    if not random.isdecimal():
        raise ValueError(f"random bits {random!r} given; give an integer")
    return numbers.record(given.x, given.rounding or numbers.OWN, given.overflow or "saturate", int(random))


def _sum() -> dict[str, Any]:
    given = request.query
    formats = given.format_a or "e4m3", given.format_b or "e4m3"
    return sums.record(given.a, given.b, *formats, given.engine or "hopper", given.c or "0")
