# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""An HTTP server on this machine whose replies a test chooses."""

import http.client
import http.server
import socket
import threading


def closed_port():
    """Returns a port without a listener."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Quiet(http.server.ThreadingHTTPServer):
    """Clients that break connections are part of the tests."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


class LoopbackServer:
    """Calls `answer(method, path, headers, body)`, in its own threads, for the reply: (status, content type, content);
    None to break the connection without a reply; or a function that takes over the connection's handler.
    `takes_body(method, path)`: False leaves the body unread. `tls`: an ssl.SSLContext."""

    def __init__(self, answer, port=0, takes_body=lambda method, path: True, tls=None):
        lock = threading.Lock()
        self.connections = connections = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_request(self):
                length = int(self.headers.get("Content-Length", 0)) if takes_body(self.command, self.path) else 0
                reply = answer(self.command, self.path, self.headers, self.rfile.read(length))
                if reply is None or callable(reply):
                    self.close_connection = True
                    if reply is not None:
                        reply(self)
                    return
                status, content_type, content = reply
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def handle(self):
                with lock:
                    connections.add(self)
                try:
                    super().handle()
                finally:
                    with lock:
                        connections.discard(self)

            do_GET = do_POST = do_PUT = handle_request

            def log_message(self, *_):
                pass

        self.http = Quiet(("127.0.0.1", port), Handler)
        self.port = self.http.server_port
        if tls is not None:
            # The connection's thread does the handshake.
            self.http.socket = tls.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"http{'' if tls is None else 's'}://127.0.0.1:{self.port}"
        # Polls for the stop request at this interval.
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def is_idle(self):
        """Returns True if all earlier clients have disconnected and their requests are done."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        asked.request("GET", "/health", headers={"Connection": "close"})
        asked.getresponse().read()  # connections are accepted in order
        asked.close()
        return not self.connections

    def stop(self):
        self.http.shutdown()
        self.http.server_close()

    def kill(self):
        """Leaves what a killed server leaves: no listener and no connection."""
        self.stop()
        for each in list(self.connections):
            try:
                each.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has disconnected
