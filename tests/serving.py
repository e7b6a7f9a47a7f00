"""Real servers for tests, on the loopback interface, and how an episode's outcome is made of a browser's state."""

import threading
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer

from werkzeug.serving import WSGIRequestHandler, make_server

from webarena_gym.evaluators import Outcome, View, no_scripts


class QuietHandler(WSGIRequestHandler):
    def log(self, *_):
        pass


class Quiet:
    """What makes a handler of HTTP requests log nothing, and mind no client that has gone."""

    def finish(self):
        with suppress(OSError, ValueError):
            super().finish()

    def log_message(self, *_):
        pass


@contextmanager
def serving(app):
    """Serve a WSGI application on a free port; give its base URL, without a last slash."""
    with running(make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)) as url:
        yield url


@contextmanager
def answering(handler):
    """Let a handler of HTTP requests answer on a free port; give its base URL, without a last slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    with running(server) as url:
        yield url


@contextmanager
def running(server):
    """Run a server in a thread; give its base URL, without a last slash."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


@contextmanager
def serving_asgi(app):
    """Serve an ASGI application on a free port; give its base URL, without a last slash."""
    import uvicorn  # noqa: PLC0415 - needs an extra

    from webarena_gym.arena.http import listen, uvicorn_config  # noqa: PLC0415

    server = uvicorn.Server(uvicorn_config(app))
    with listen("127.0.0.1", (0,)) as sock:
        thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(5)


@contextmanager
def serving_episodes(address=None, limits=None):
    """Run an episode server; give its URL."""
    from webarena_gym.arena.app import run_server  # noqa: PLC0415 - needs an extra

    with run_server(address, limits) as service:
        yield service.url


def outcome_of(browser, urls, answer="", *, scripts=True, accounts=None):
    """What an env makes of the state in which an episode ended."""

    def view():
        return View(browser.page(), browser.run_script if scripts else no_scripts, not getattr(browser, "has_failed", False))

    final = view()

    @contextmanager
    def open_page(url):
        browser.new_tab(url)
        try:
            yield view()
        finally:
            browser.close_tab()
            browser.switch_tab(final.page.active_tab)

    return Outcome(answer, final, open_page, {}.__getitem__, urls, accounts or {})
