"""Plays a vendor: installs the build into an empty folder, builds two connectors outside the tree against that folder alone, looks at
what they link and export, drops them into a plugins directory and runs them by name.

LAKEFLOW_BUILD: the build tree; LAKEFLOW_SOURCE: the checkout (its examples are copied, nothing else of it is used)."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from shop import Shop  # noqa: E402

BUILD = pathlib.Path(os.environ["LAKEFLOW_BUILD"])
EXAMPLES = pathlib.Path(os.environ["LAKEFLOW_SOURCE"]) / "sdk" / "examples"
LIBC = {"libc.so.6", "libm.so.6"}
CXX = LIBC | {"libstdc++.so.6", "libgcc_s.so.1"}


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Vendor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="vendor-")
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix = cls.root / "installed"
        run(["cmake", "--install", BUILD, "--prefix", cls.prefix])
        cls.plugins = next(cls.prefix.glob("lib*/lakeflow/plugins"), None) or cls.prefix / "lib" / "lakeflow" / "plugins"
        cls.plugins.mkdir(parents=True, exist_ok=True)
        cls.host = cls.prefix / "bin" / "lakeflow-host"
        cls.built, cls.commands = {}, ""
        for example, name in (("paged_json", "orders"), ("minimal_c", "squares")):
            source = cls.root / example
            shutil.copytree(EXAMPLES / example, source)
            run(["cmake", "-S", source, "-B", source / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 f"-DCMAKE_PREFIX_PATH={cls.prefix}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"])
            cls.commands += run(["cmake", "--build", source / "build", "--verbose"])
            cls.built[name] = next((source / "build").rglob(f"{name}.so"))
            shutil.copy(cls.built[name], cls.plugins)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def load(self, plugin, settings, work):
        """Runs one job and returns (exit code, report, everything printed)."""
        job = work / "job.toml"
        text = (EXAMPLES / "paged_json" / "job.toml").read_text()
        text = text.replace("orders", plugin)
        text = re.sub(r"\[connection\]\n.*?\n\n", f"[connection]\n{settings}\n\n", text, flags=re.S)
        job.write_text(text)
        environment = {name: value for name, value in os.environ.items() if name not in ("LAKEFLOW_PLUGIN_PATH",)}
        done = subprocess.run([str(self.host), "--plugin", f"{plugin}.so", "--config", str(job), "--report", str(work / "report.json")],
                              capture_output=True, text=True, cwd=work, env=environment, timeout=120)
        report = json.loads((work / "report.json").read_text()) if (work / "report.json").exists() else {}
        return done.returncode, report, done.stdout + done.stderr

    def scratch(self):
        folder = tempfile.TemporaryDirectory(prefix="vendor-job-")
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def test_the_compiler_saw_the_installed_folder_alone(self):
        self.assertNotIn(str(EXAMPLES.parent), self.commands)
        for header in ("lakeflow/lakeflow.h", "lakeflow/lakeflow.hpp", "lakeflow/cpp/detail/guard.hpp"):
            self.assertTrue((self.prefix / "include" / header).exists(), header)

    def test_each_links_libc_alone_and_exports_one_symbol(self):
        for name, allowed in (("orders", CXX), ("squares", LIBC)):
            dynamic = run(["readelf", "--dynamic", "--wide", self.built[name]])
            needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic))
            self.assertTrue(needed and needed <= allowed, f"{name} links {needed - allowed}")
            self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)")
            symbols = run(["nm", "--dynamic", "--defined-only", self.built[name]]).split("\n")
            self.assertEqual([line.split()[-1] for line in symbols if line], ["lakeflow_plugin_entry"], name)

    def test_a_connector_is_about_a_hundred_lines(self):
        lines = (EXAMPLES / "paged_json" / "orders.cpp").read_text().splitlines()
        self.assertLessEqual(len(lines), 110)

    def test_the_cpp_connector_loads_what_changed(self):
        work = self.scratch()
        with Shop(orders=1234, token="t0ken") as shop:
            settings = f'base_url = "{shop.url}"\ntoken = "t0ken"'
            code, report, said = self.load("orders", settings, work)
            self.assertEqual(code, 0, said)
            self.assertNotIn("t0ken", said + json.dumps(report))
            rows = [json.loads(line) for line in (work / "out" / "orders.jsonl").read_text().splitlines()]
            self.assertEqual(sorted(row["id"] for row in rows), list(range(1, 1235)))
            row = next(row for row in rows if row["id"] == 5)
            self.assertEqual(row["customer"], {"name": "Customer 5", "city": None})
            self.assertEqual((float(row["amount"]), row["tags"]), (5.05, ["paper", "paper"]))
            self.assertNotIn("not_asked_for", row)
            pages = [path for path in shop.requests if "page=" in path]
            self.assertEqual(len(pages), 12)  # pages 2 to 13 of one walk

            before = len(rows)
            code, report, said = self.load("orders", settings, work)
            self.assertEqual((code, report["tables"][0]["rows_read"]), (0, 0), said)
            shop.change(7, amount=9.99)
            shop.change(1000, tags=["new"])
            shop.add(5000)
            code, report, said = self.load("orders", settings, work)
            self.assertEqual(code, 0, said)
            rows = [json.loads(line) for line in (work / "out" / "orders.jsonl").read_text().splitlines()]
            self.assertEqual(sorted(row["id"] for row in rows[before:]), [7, 1000, 5000])

    def test_a_refused_token_is_one_clear_error(self):
        with Shop(orders=3, token="right") as shop:
            code, report, said = self.load("orders", f'base_url = "{shop.url}"\ntoken = "wr0ng"', self.scratch())
        self.assertEqual((code, report["tables"][0]["error"]["code"]), (1, "source.auth"), said)
        self.assertNotIn("wr0ng", said + json.dumps(report))

    def test_the_c_connector_loads_once(self):
        work = self.scratch()
        code, report, said = self.load("squares", "", work)
        self.assertEqual(code, 0, said)
        rows = [json.loads(line) for line in (work / "out" / "squares.jsonl").read_text().splitlines()]
        self.assertEqual(sorted((row["n"], row["square"]) for row in rows), [(n, n * n) for n in range(1, 1001)])
        code, report, said = self.load("squares", "", work)
        self.assertEqual((code, report["tables"][0]["rows_read"]), (0, 0), said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
