"""The service of the vendor's example, on loopback: orders, oldest change first, in pages that name the next one in the body.

    with Shop(orders=250) as shop:
        shop.url, shop.requests, shop.change(7, amount="9.99")
"""

import datetime
import http.server
import json
import threading
import urllib.parse

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def order(number, seconds):
    return {
        "id": number,
        "customer": {"name": f"Customer {number % 17}", "city": None if number % 5 == 0 else "Bonn"},
        "amount": float(f"{number}.{number % 100:02d}"),
        "tags": ["paper"] * (number % 3),
        "updated_at": (START + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "not_asked_for": {"x": number},
    }


class Shop:
    def __init__(self, orders, token=None):
        self.rows = [order(i, i) for i in range(1, orders + 1)]
        self.clock = orders
        self.token = token
        self.requests = []
        shop = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                shop.requests.append(self.path)
                status, document = shop.answer(self.path, self.headers)
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/api"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def change(self, number, **fields):
        self.clock += 1
        row = next(row for row in self.rows if row["id"] == number)
        row.update(fields, updated_at=order(number, self.clock)["updated_at"])

    def add(self, number):
        self.clock += 1
        self.rows.append(order(number, self.clock))

    def answer(self, path, headers):
        address = urllib.parse.urlsplit(path)
        query = dict(urllib.parse.parse_qsl(address.query))
        if self.token is not None and headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {"error": "who are you?"}
        if address.path != "/api/orders":
            return 404, {"error": "no such thing"}
        size, page = int(query["size"]), int(query.get("page", 1))
        rows = sorted(self.rows, key=lambda row: (row["updated_at"], row["id"]))
        rows = [row for row in rows if row["updated_at"] >= query.get("updated_since", "")]
        part = rows[(page - 1) * size : page * size]
        following = None
        if page * size < len(rows):
            following = "/api/orders?" + urllib.parse.urlencode({**query, "page": page + 1})
        return 200, {"data": {"items": part}, "meta": {"total": len(rows), "next": following}}
