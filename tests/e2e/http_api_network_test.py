"""The http-api plugin behind real servers and proxies that nobody here wrote: nginx (429, connections that end, redirects, HTML under 200, a
private CA) and tinyproxy. The rows are right, or the error is clear; fewer rows are never called success."""

import json
import os
import shutil
import subprocess
import unittest

from http_api_servers_test import Servers, free_port

PAGES, PAGE = 6, 50

ROWS = """[connection.resources.rows]
path = "{path}"
schema = "id BIGINT NOT NULL, name STRING"
primary_keys = ["id"]
paging = {{ type = "page", page = "page", size = "size", page_size = 50, more = "/more" }}
records = "/rows"
"""

NGINX = """
daemon off;
{user}
worker_processes 1;
error_log {folder}/error.log warn;
pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    log_format asked '$server_port $request_uri $status $connection "$http_authorization"';
    access_log {folder}/access.log asked;
    default_type application/json;
    root {folder}/data;
    limit_req_zone $server_name zone=slow:1m rate=4r/s;
    limit_req_zone $server_port zone=often:1m rate=4r/s;
    gzip on; gzip_types application/json; gzip_min_length 10;
    server {{
        listen 127.0.0.1:{port};
        server_name plain;
        location = /api/rows {{ try_files /rows-$arg_page.json =404; }}
        # Too many requests: 429, when to come again, and a page for people.
        location = /api/busy {{ limit_req zone=slow; limit_req_status 429; error_page 429 = @busy; try_files /rows-$arg_page.json =404; }}
        location @busy {{ default_type text/html; add_header Retry-After 1 always; return 429 "<html><body>slow down</body></html>"; }}
        # The same as an operator's maintenance page: 200, and HTML.
        location = /api/upkeep {{ limit_req zone=often; error_page 503 =200 @upkeep; try_files /rows-$arg_page.json =404; }}
        location @upkeep {{ default_type text/html; return 200 "<html><body>back soon</body></html>"; }}
        location = /api/down {{ default_type text/html; return 200 "<html><body>gone fishing</body></html>"; }}
        location = /api/old {{ return 301 /api/rows$is_args$args; }}
        location = /api/away {{ return 301 http://127.0.0.1:{other}/api/rows$is_args$args; }}
    }}
    server {{
        listen 127.0.0.1:{other};
        server_name other;
        keepalive_requests 2;
        location = /api/rows {{ try_files /rows-$arg_page.json =404; }}
    }}
    server {{
        listen 127.0.0.1:{tls} ssl;
        server_name tls;
        ssl_certificate {folder}/server.pem;
        ssl_certificate_key {folder}/server.key;
        location = /api/rows {{ try_files /rows-$arg_page.json =404; }}
    }}
}}
"""


class Nginx(Servers):
    def setUp(self):
        super().setUp()
        data = self.folder / "data"
        data.mkdir()
        for page in range(1, PAGES + 1):
            rows = [{"id": i, "name": f"row {i}"} for i in range((page - 1) * PAGE + 1, page * PAGE + 1)]
            (data / f"rows-{page}.json").write_text(json.dumps({"rows": rows, "more": page < PAGES}))
        self.port, self.other, self.tls = free_port(), free_port(), free_port()
        self.certificates()
        conf = self.folder / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""
        conf.write_text(NGINX.format(folder=self.folder, port=self.port, other=self.other, tls=self.tls, user=user))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.start(self.port, [program, "-e", str(self.folder / "error.log"), "-p", str(self.folder), "-c", str(conf)], "/api/rows?page=1")

    def certificates(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=private CA")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
        (self.folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "names")

    def land(self, path, code=0, port=None, scheme="http", connection="", **more):
        job = self.declare(f"{scheme}://127.0.0.1:{port or self.port}/api", ROWS.format(path=path), ["rows"], connection)
        run = self.run_job(job, code=code, **more)
        table = run.table("rows")
        if code == 0:
            self.assertEqual(sorted(row["id"] for row in self.delta("rows")), list(range(1, PAGES * PAGE + 1)))
        else:
            self.assertEqual(table["rows_landed"], 0)
        return run, table

    def log(self):
        return [line.split(" ", 4) for line in (self.folder / "access.log").read_text().splitlines()]

    def test_too_many_requests(self):
        run, table = self.land("busy")
        self.assertGreater(run.report["http"]["retries"], 0)
        self.assertGreater(sum(line[2] == "429" for line in self.log()), 0)
        self.assertGreater(table["http"]["throttled_seconds"], 0)
        # A person who does not want to wait is told so.
        run, table = self.land("busy", code=1, connection='retry = { attempts = 2, max_wait = "100ms" }')
        self.assertEqual(table["error"]["code"], "source.rate_limited")

    def test_connections_that_end(self):
        self.land("rows", port=self.other)
        connections = [line[3] for line in self.log() if line[0] == str(self.other)]
        self.assertEqual(max(connections.count(one) for one in connections), 2)

    def test_redirects(self):
        secret = 'auth = { type = "bearer", token = "canary-of-nginx" }'
        self.land("old", connection=secret)
        self.land("away", connection=secret)
        # To another origin goes no credential.
        seen = {(line[0], line[4]) for line in self.log() if line[1].startswith("/api/") and line[4] != '"-"'}
        self.assertEqual(seen, {(str(self.port), '"Bearer canary-of-nginx"')})
        self.assertTrue(any(line[0] == str(self.other) for line in self.log()))

    def test_html_under_200(self):
        run, _ = self.land("upkeep")
        self.assertGreater(run.report["http"]["retries"], 0)
        _, table = self.land("down", code=1, connection="retry = { attempts = 2 }")
        self.assertEqual(table["error"]["code"], "source.protocol")

    def test_a_private_ca(self):
        self.land("rows", port=self.tls, scheme="https", connection='ca_file = "ca.pem"')
        _, table = self.land("rows", code=1, port=self.tls, scheme="https", connection="retry = { attempts = 2 }")
        self.assertIn("certificate", (table["error"]["message"] + table["error"]["hint"]).lower())

    def test_a_forward_proxy_with_credentials(self):
        port = free_port()
        conf = self.folder / "tinyproxy.conf"
        user = "User root\nGroup root\n" if os.geteuid() == 0 else ""
        conf.write_text(
            f'{user}Port {port}\nListen 127.0.0.1\nTimeout 30\nLogFile "{self.folder}/tinyproxy.log"\nLogLevel Connect\n'
            f'PidFile "{self.folder}/tinyproxy.pid"\nMaxClients 50\nAllow 127.0.0.1\nBasicAuth lake canary-of-proxy\nConnectPort {self.tls}\n'
        )
        self.start(port, [shutil.which("tinyproxy") or "/usr/bin/tinyproxy", "-d", "-c", str(conf)], "/")
        proxied = f'proxy = "http://lake:canary-of-proxy@127.0.0.1:{port}"\n'
        run, _ = self.land("rows", connection=proxied)
        self.assertIn(f"GET http://127.0.0.1:{self.port}/api/rows", (self.folder / "tinyproxy.log").read_text())
        run, _ = self.land("rows", port=self.tls, scheme="https", connection=proxied + 'ca_file = "ca.pem"')
        self.assertIn(f"CONNECT 127.0.0.1:{self.tls}", (self.folder / "tinyproxy.log").read_text())
        run, table = self.land("rows", code=1, connection=f'retry = {{ attempts = 2 }}\nproxy = "http://lake:canary-that-is-wrong@127.0.0.1:{port}"')
        self.assertRegex(table["error"]["message"], "407|401")  # tinyproxy says 401 where the credential is wrong
        run, table = self.land("rows", code=1, port=self.tls, scheme="https", connection=f'retry = {{ attempts = 2 }}\nproxy = "http://lake:canary-that-is-wrong@127.0.0.1:{port}"')
        self.assertRegex(table["error"]["message"], "407|401")  # tinyproxy says 401 where the credential is wrong
        self.assertNotIn("canary", run.stderr + json.dumps(run.report))


if __name__ == "__main__":
    unittest.main()
