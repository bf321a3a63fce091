"""A paged JSON service in this process, on a free port of loopback, with a memory of what it was asked. Handlers are plain functions."""

import http.server
import json
import threading
import urllib.parse


class Asked:
    """One request, taken apart."""

    def __init__(self, handler, body):
        self.method = handler.command
        self.target = handler.path
        split = urllib.parse.urlsplit(handler.path)
        self.path = split.path
        self.query = urllib.parse.parse_qs(split.query, keep_blank_values=True)
        self.headers = handler.headers
        self.body = body

    def get(self, name, fallback=None):
        return self.query.get(name, [fallback])[0]

    def number(self, name, fallback):
        return int(self.get(name, fallback))


class Service:
    """`Service(answer)`: answer(asked) gives (status, body) or (status, body, headers); a body that is no text is written as JSON."""

    def __init__(self, answer):
        self.asked = []
        self.lock = threading.Lock()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self):
                size = int(self.headers.get("Content-Length") or 0)
                asked = Asked(self, self.rfile.read(size).decode())
                with service.lock:
                    service.asked.append(asked)
                status, body, *rest = answer(asked)
                data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                headers = {"Content-Type": "application/json", **(rest[0] if rest else {})}
                for name, value in headers.items():
                    self.send_header(name, str(value))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_HEAD = do_POST = do_DELETE = do_PUT = reply

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def targets(self, method=None):
        with self.lock:
            return [one.target for one in self.asked if method in (None, one.method)]
