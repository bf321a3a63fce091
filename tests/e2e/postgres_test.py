"""The real host lands into a real PostgreSQL: scd1 and scd2, a second run after edits, and no password in anything that it prints."""

import sys
import unittest

from harness import SOURCE, Scratch

sys.path.insert(0, str(SOURCE / "tests" / "support"))

from postgres_server import PostgresServer  # noqa: E402


class Postgres(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.database = PostgresServer()
        cls.addClassCleanup(cls.database.stop)

    def test_rows_history_and_position_land_together(self):
        server = self.server(issues=500)
        tables = [
            {"source": '"issues"', "destination": '"current"', "mode": '"scd1"'},
            {"source": '"issues"', "destination": '"history"', "mode": '"scd2"'},
        ]
        job = self.job(server, tables, destination='type = "postgres"\ndsn = { env = "LAKE_DSN" }\nschema = "lake"')
        env = {"LAKE_DSN": self.database.dsn}
        run = self.run_job(job, env=env)
        self.assertNotIn(self.database.password, run.stderr + run.stdout)
        truth = server.truth("issues")
        self.assertEqual(self.database.ask("SELECT count(*), count(DISTINCT id) FROM lake.current"), [[str(len(truth))] * 2])
        self.assertEqual(self.database.ask('SELECT count(*) FROM lake.history WHERE "__END_AT" IS NULL'), [[str(len(truth))]])
        server.control("edit", count=50)
        self.run_job(job, env=env)
        self.assertEqual(self.database.ask("SELECT count(*) FROM lake.current"), [[str(len(truth))]])
        self.assertEqual(self.database.ask('SELECT count(*), count(*) FILTER (WHERE "__END_AT" IS NULL) FROM lake.history'),
                         [[str(len(truth) + 50), str(len(truth))]])
        titles = {row[0]: row[1] for row in self.database.ask('SELECT id, title FROM lake.history WHERE "__END_AT" IS NULL')}
        self.assertEqual(titles, dict(map(lambda row: (row[0], row[1]), self.database.ask("SELECT id, title FROM lake.current"))))
        # The position is in the database: without the state folder nothing is read twice.
        again = self.run_job(job, "--set", "job.state=elsewhere", env=env)
        self.assertEqual(again.table("current")["rows_landed"], 0)
        # Nothing of the staging is left, and a wrong password is told without being shown.
        self.assertEqual(self.database.ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'lf\\_%'"), [["0"]])
        wrong = self.database.dsn.replace(self.database.password, "wrong-password-9")
        failed = self.host("run", "--config", job, env={"LAKE_DSN": wrong})
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("destination.auth", failed.stderr)
        self.assertNotIn("wrong-password-9", failed.stderr + failed.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
