"""Command `fp9 explore`: serve the numerics explorer as a local web page."""

from __future__ import annotations

import contextlib
import webbrowser

import click

from fp9.cli.support import Command, UserError, extra, show

_PORT = 8199


@click.command(cls=Command, page="how-to/explore.md")
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="Port; 0: a free one.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
def explore(port: int, opens: bool, as_json: bool) -> None:
    """Explore numbers, formats, sums and units in the browser.

    Until Ctrl-C, the command serves a web page to browsers on this machine only. The page computes numbers and sums
    with the golden model in C. The server measures areas and delays of units in the background, as fp9 synth does, and
    caches the results.

    \b
      fp9 explore --open
    """
    with extra("explore"):
        from fp9.studies.explorer import server  # optional
    try:
        serving = server.serve(port)
    except OSError as error:
        raise UserError(f"port {port} is not available ({error.strerror}); give another with --port") from error
    address = f"http://{server.HOST}:{serving.server_port}/"
    show({"address": address}, as_json, f"{address} until Ctrl-C")
    if opens:
        webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt), serving:
        serving.serve_forever()
