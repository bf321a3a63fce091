"""What the end-to-end tests share: a GitHub-shaped server, a scratch folder with a job file, runs of lakeflow-host, and independent
readers of the tables. Every process is ended by its id; every port is the server's own choice.

The build tells where things are: LAKEFLOW_BUILD (its folder), LAKEFLOW_SOURCE (the checkout)."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

BUILD = pathlib.Path(os.environ["LAKEFLOW_BUILD"])
SOURCE = pathlib.Path(os.environ["LAKEFLOW_SOURCE"])
HOST = BUILD / "lakeflow-host"
SERVER = BUILD / "github-server"
PLUGINS = BUILD / "plugins"
TOKEN = "ghp_canary0token1never2shown3"

sys.path.insert(0, str(SOURCE / "tests" / "tools"))


class GitHub:
    """A running server; `with GitHub(issues=5000) as server`."""

    def __init__(self, **settings):
        arguments = [str(SERVER), "--exit-with-stdin", "--token", TOKEN]
        for name, value in settings.items():
            flag = "--" + name.replace("_", "-")
            if value is True:
                arguments.append(flag)
            elif isinstance(value, (list, tuple)):
                for one in value:
                    arguments += [flag, str(one)]
            else:
                arguments += [flag, str(value)]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the server did not start: " + " ".join(arguments))
        ready = json.loads(line)
        self.port = ready["port"]
        self.tls_port = ready.get("tls_port")
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def control(self, what, **arguments):
        request = urllib.request.Request(f"{self.url}/__control/{what}", data=json.dumps(arguments).encode(), method="POST")
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    def ask(self, what):
        with urllib.request.urlopen(f"{self.url}/__control/{what}") as answer:
            return json.loads(answer.read())

    def truth(self, table, repo="octo/demo"):
        with urllib.request.urlopen(f"{self.url}/__control/truth/{table}?repo={repo}") as answer:
            return {row["key"]: row for row in map(json.loads, answer.read().decode().splitlines())}


class Run:
    """One run of lakeflow-host that has ended."""

    def __init__(self, process, report):
        self.code = process.returncode
        self.stdout = process.stdout
        self.stderr = process.stderr
        self.report = report

    def table(self, name):
        return next(table for table in self.report["tables"] if table["name"] == name)

    @property
    def requests(self):
        return self.report["http"]["requests"]


class Scratch(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lakeflow-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, **settings):
        server = GitHub(**settings)
        self.addCleanup(server.stop)
        return server

    def job(self, server, tables, *, destination='type = "delta"\npath = "lake"', job="", connection="", name="job.toml"):
        """Writes a job file. `tables`: sources, or dicts of keys in TOML."""
        text = f'[job]\nname = "e2e"\nplugin = "github"\n{job}\n'
        text += f'[connection]\nbase_url = "{server if isinstance(server, str) else server.url}"\ntoken = "{TOKEN}"\n{connection}\n'
        text += f"[destination]\n{destination}\n"
        for table in tables:
            keys = {"source": f'"{table}"'} if isinstance(table, str) else dict(table)
            keys.setdefault("options", '{ owner = "octo", repo = "demo" }')
            text += "[[tables]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
        path = self.folder / name
        path.write_text(text)
        return path

    def host(self, *arguments, timeout=300, env=None, check_secret=True):
        process = subprocess.run(
            [str(HOST), *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if check_secret:
            self.assertNotIn(TOKEN, process.stdout + process.stderr)
        return process

    def run_job(self, path, *arguments, code=0, timeout=300, env=None):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        process = self.host("run", "--config", path, "--report", report, *arguments, timeout=timeout, env=env)
        self.assertTrue(report.exists(), process.stderr)
        text = report.read_text()
        self.assertNotIn(TOKEN, text)
        run = Run(process, json.loads(text))
        self.assertEqual(process.returncode, code, process.stderr + text)
        self.assertEqual(run.report["exit_code"], code)
        return run

    def delta(self, table, columns="*"):
        """Rows of a Delta table as delta-rs reads them."""
        import pyarrow
        from deltalake import DeltaTable, QueryBuilder

        source = DeltaTable(str(self.folder / "lake" / table))
        found = QueryBuilder().register("t", source).execute(f"SELECT {columns} FROM t").read_all()
        return pyarrow.table(found).to_pylist()

    def version(self, table):
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder / "lake" / table)).version()

    def assert_equals_truth(self, server, table, destination=None, key="id", fields=("updated_at",), repo="octo/demo"):
        """The table holds exactly the server's rows, each once, with the fields of its newest state."""
        rows = self.delta(destination or table, ", ".join(f'"{name}"' for name in (key, *fields)))
        truth = server.truth(table, repo)
        self.assertEqual(len(rows), len({row[key] for row in rows}), "a key stands twice")
        self.assertEqual({row[key] for row in rows}, set(truth))
        for row in rows:
            for name in fields:
                value = row[name]
                if hasattr(value, "strftime"):
                    value = value.strftime("%Y-%m-%dT%H:%M:%SZ")
                self.assertEqual(value, truth[row[key]][name], f"{name} of {row[key]}")
