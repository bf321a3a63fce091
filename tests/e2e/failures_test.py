"""What a person sees when something is wrong: one clear message with the remedy, the right exit code, and no secret."""

import json
import shutil
import socket
import unittest

from harness import PLUGINS, TOKEN, Scratch


class Mistakes(Scratch):
    def refused(self, job, *arguments, code, names, error):
        run = self.run_job(job, *arguments, code=code)
        found = run.report["error"] if "error" in run.report else run.report["tables"][0]["error"]
        self.assertEqual(found["code"], error, found)
        self.assertTrue(found["hint"], found)
        for name in names:
            self.assertIn(name, found["message"] + found["hint"])
            self.assertIn(name, run.stderr)
        self.assertEqual(run.stderr.count("error: "), 1, run.stderr)
        return run

    def test_a_wrong_token(self):
        server = self.server(issues=5)
        job = self.job(server, ["issues"])
        job.write_text(job.read_text().replace(TOKEN, "ghp_wrong0canary9"))
        run = self.refused(job, code=1, names=["token", "401"], error="source.auth")
        self.assertNotIn("ghp_wrong0canary9", run.stderr + run.stdout + json.dumps(run.report))

    def test_an_unknown_repository(self):
        server = self.server(issues=5)
        job = self.job(server, [{"source": '"issues"', "options": '{ owner = "octo", repo = "absent" }'}])
        self.refused(job, code=1, names=["octo/absent", "may not see"], error="source.not_found")

    def test_a_misspelt_key(self):
        job = self.job("http://127.0.0.1:1", ["issues"], job="parallelsm = 3")
        self.refused(job, code=2, names=["parallelsm", "parallelism", "line"], error="config.unknown_key")

    def test_a_misspelt_option_of_the_plugin(self):
        job = self.job("http://127.0.0.1:1", [{"source": '"issues"', "options": '{ owner = "octo", rpeo = "demo" }'}])
        self.refused(job, code=2, names=["rpeo", "repo"], error="config.unknown_option")

    def test_an_unknown_table(self):
        job = self.job("http://127.0.0.1:1", ["isues"])
        self.refused(job, code=2, names=["isues"], error="source.not_found")

    def test_a_missing_plugin(self):
        job = self.job("http://127.0.0.1:1", ["issues"])
        job.write_text(job.read_text().replace('plugin = "github"', 'plugin = "githob"'))
        self.refused(job, code=2, names=["githob", "--plugin"], error="plugin.not_found")

    def test_a_server_that_is_down(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        job = self.job(f"http://127.0.0.1:{port}", ["issues"], connection='retry = { attempts = 2 }')
        self.refused(job, code=1, names=[f"127.0.0.1:{port}"], error="source.transient")

    def test_a_key_that_the_plugin_has_no_use_for(self):
        job = self.job("http://127.0.0.1:1", [{"source": '"issues"', "on_status": '{ "404" = "skip" }'}])
        self.refused(job, code=2, names=["on_status", "options are: owner"], error="config.unknown_option")

    def test_one_table_fails_and_the_others_land(self):
        server = self.server(issues=120, pulls=10, repo=["octo/demo", "octo/empty"])
        tables = ["issues", {"source": '"issues"', "destination": '"gone"', "options": '{ owner = "octo", repo = "absent" }'}]
        run = self.run_job(self.job(server, tables), code=3)
        self.assertEqual(run.report["status"], "partial")
        self.assertEqual(run.table("issues")["status"], "reached_bound")
        self.assertEqual(run.table("gone")["status"], "failed")
        self.assertEqual(len(self.delta("issues")), 120)

    def test_the_token_is_in_no_output_at_any_level(self):
        server = self.server(issues=250, pulls=20)
        server.control("faults", faults=[{"path": "page=2", "times": 1, "status": 500, "body": f"no {TOKEN}"}])
        run = self.run_job(self.job(server, ["issues", "users"]), "--log-level", "trace")
        self.assertIn("issues", run.stderr)
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name != "job.toml":
                self.assertNotIn(TOKEN.encode(), path.read_bytes(), path)


class CommandLine(Scratch):
    def test_a_plugin_that_was_copied_into_the_folder_runs_by_name(self):
        server = self.server(issues=5)
        plugins = self.folder / "plugins"
        plugins.mkdir()
        shutil.copy(PLUGINS / "github.so", plugins)
        job = self.job(server, ["issues"])
        job.write_text(job.read_text().replace('plugin = "github"', ""))
        process = self.host("--plugin", "github.so", "--config", job, env={"LAKEFLOW_PLUGIN_PATH": str(plugins)})
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(len(self.delta("issues")), 5)

    def test_a_mistyped_command_is_named_with_the_near_one(self):
        process = self.host("--plugin", "github.so", "querry", "x")
        self.assertEqual(process.returncode, 2)
        self.assertIn('did you mean "query"', process.stderr)
        self.assertEqual(self.host("--frobnicate").returncode, 2)

    def test_the_commands_that_look(self):
        server = self.server(issues=30)
        job = self.job(server, ["issues"])
        describe = self.host("describe", "github")
        self.assertIn("token", describe.stdout)
        self.assertIn("secret", describe.stdout)
        plugins = self.host("plugins", "--json", "--plugin-dir", PLUGINS)
        self.assertIn("github", [json.loads(line).get("id") for line in plugins.stdout.splitlines()])
        tables = self.host("tables", "--config", job)
        self.assertEqual(len(tables.stdout.split()), 12)
        schema = self.host("schema", "issues", "--config", job, "--json")
        columns = {column["name"]: column for column in json.loads(schema.stdout)["columns"]}
        self.assertEqual(columns["updated_at"]["type"], "TIMESTAMP")
        self.assertFalse(columns["id"]["nullable"])
        preview = self.host("preview", "issues", "--config", job, "-n", "3")
        rows = [json.loads(line) for line in preview.stdout.splitlines()]
        self.assertEqual(len(rows), 3)
        self.assertTrue({row["id"] for row in rows} <= set(server.truth("issues")))
        self.assertFalse((self.folder / "lake").exists())
        self.assertFalse((self.folder / "state").exists())

    def test_status_and_reset(self):
        server = self.server(issues=30)
        job = self.job(server, ["issues"])
        self.assertIn("not begun", self.host("status", "--config", job).stdout)
        end = self.run_job(job).table("issues")["end"]
        status = json.loads(self.host("status", "--config", job, "--json").stdout)
        self.assertEqual(status["end"], end)
        self.assertEqual(self.host("reset", "issues", "--config", job).returncode, 0)
        self.assertIn("not begun", self.host("status", "--config", job).stdout)
        again = self.run_job(job)
        self.assertEqual(again.table("issues")["rows_landed"], 0)  # all were there, just so
        self.assertEqual(len(self.delta("issues")), 30)

    def test_set_and_only(self):
        server = self.server(issues=30, pulls=5)
        job = self.job(server, ["issues", "pull_requests"])
        self.run_job(job, "--only", "pull_requests", "--set", f"destination.path={self.folder}/elsewhere")
        self.assertTrue((self.folder / "elsewhere" / "pull_requests" / "_delta_log").exists())
        self.assertFalse((self.folder / "lake").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
