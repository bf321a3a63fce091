"""Every law broken on its own, by a table of tests/plugins/lawless.c, through the real host into a real destination: the error has its
code, names plugin, table, offsets and remedy, and no byte of the destination changes. All broken tables are printed together."""

import hashlib
import json
import os
import subprocess
import sys
import time
import unittest

from harness import BUILD, HOST, Scratch

SECRET = "canary0secret9never7shown"
START = '{"n":3}'  # where every table stands when it begins to break its law

# table: (code, texts that the message holds besides plugin and table, exit code). 1: the table failed; 2: before any request.
LAWS = {
    "end_is_an_array": ("offset.not_an_object", ["[4]", START], 1),
    "end_is_not_json": ("offset.not_an_object", [START], 1),
    "end_is_huge": ("offset.not_an_object", ["65536", START], 1),
    "end_has_a_fraction": ("offset.not_primitive", ["6.5", START], 1),
    "end_has_a_null": ("offset.not_primitive", ["null", START], 1),
    "end_is_nested": ("offset.not_primitive", ['"n"', START], 1),
    "latest_is_an_array": ("offset.not_an_object", ["[6]", START], 1),
    "rows_without_progress": ("offset.rows_without_progress", ["3 rows", START], 1),
    "returns_to_an_offset": ("offset.repeated", [START, '{"page":1}'], 1),
    "goes_back": ("offset.went_back", ['{"n":2}', START], 1),
    "plans_backwards": ("offset.went_back", ['{"n":1}', START], 1),
    "reads_past_the_bound": ("offset.beyond_bound", ['{"k":"x","n":9}', '{"n":6}', START], 1),
    "plans_past_the_bound": ("offset.beyond_bound", ['{"k":"x","n":9}', '{"n":6}', START], 1),
    "never_comes_nearer": ("offset.no_progress_limit", ["1001 batches", '{"page":1001}', '{"n":6}'], 1),
    "no_array": ("records.invalid_array", [START], 1),
    "short_column": ("records.invalid_array", ["column name", "2 rows", START], 1),
    "negative_length": ("records.invalid_array", ["column id", "-1", START], 1),
    "endless_length": ("records.invalid_array", [str(1 << 40), START], 1),
    "offset_past_the_end": ("records.invalid_array", ["column n", START], 1),
    "nulls_without_bitmap": ("records.invalid_array", ["column n", "bitmap", START], 1),
    "nulls_that_lie": ("records.invalid_array", ["column n", "bitmap has 1", START], 1),
    "offsets_decrease": ("records.invalid_array", ["column name", "decrease", START], 1),
    "offsets_below_zero": ("records.invalid_array", ["column name", "-8", START], 1),
    "lists_past_their_elements": ("records.invalid_array", ["column marks.element", "99", START], 1),
    "list_without_child": ("records.invalid_array", ["column marks", START], 1),
    "no_data": ("records.invalid_array", ["column id", "null pointer", START], 1),
    "too_few_buffers": ("records.invalid_array", ["column name", "2 buffers", START], 1),
    "not_utf8": ("records.invalid_array", ["column name", "row 0", START], 1),
    "released_column": ("records.invalid_array", ["column n", "released", START], 1),
    "no_schema": ("records.invalid_array", ["schema", START], 1),
    "one_column_fewer": ("records.schema_drift", ["3 children", START], 1),
    "other_schema": ("records.schema_drift", ["title", START], 1),
    "null_in_required": ("records.null_in_required", ["column id", "row 0", START], 1),
    "null_key": ("key.null", ["'name'", "row 0", "id = 4", START], 1),
    "descriptor_is_text": ("partition.descriptor_invalid", ["descriptor 0", START], 1),
    "descriptors_in_an_object": ("partition.descriptor_invalid", ['{"from":4}', START], 1),
    "descriptor_is_huge": ("partition.descriptor_invalid", ["65536", START], 1),
    "reader_without_next": ("plugin.missing_slot", ["next", START], 1),
    "deletes_without_slot": ("plugin.missing_slot", ["read_table_deletes", "cdc_with_deletes"], 2),
    "status_that_does_not_exist": ("plugin.bad_status", ["status 77", START], 1),
    "retry_class_that_does_not_exist": ("plugin.bad_status", ["retry class 99", START], 1),
    "no_reader": ("plugin.contract", ["read_table", "no reader", START], 1),
    "no_end_offset": ("plugin.contract", ["read_table", START], 1),
    "latest_without_offset": ("plugin.contract", ["latest_offset", '"offset"', START], 1),
    "metadata_are_not_json": ("plugin.contract", ["table_metadata", "not JSON"], 2),
    "hangs_until_cancelled": ("plugin.timeout", ["300 ms", START], 1),
    "hangs_for_good": ("plugin.timeout", ["300 ms", START], 1),
    "is_empty_for_ever": ("plugin.timeout", ["300 ms", START], 1),
    "secret_in_end": ("secret.in_descriptor", ["end offset", START], 1),
    "secret_in_latest": ("secret.in_descriptor", ["latest offset", START], 1),
    "secret_in_descriptor": ("secret.in_descriptor", ["descriptor", START], 1),
}


def digest(folder):
    """Every file below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*")) if path.is_file()
    }


class Laws(Scratch):
    def write_job(self, plugin, tables, destination):
        (self.folder / "lake").mkdir(exist_ok=True)
        text = f'[job]\nname = "laws"\nplugin = "{BUILD}/tests/plugins/{plugin}.so"\n'
        if plugin == "lawless":
            text += f'[connection]\ntoken = "{SECRET}"\n'
        text += f"[destination]\n{destination}\n"
        for table in tables:
            text += f'[[tables]]\nsource = "{table}"\nmode = "append"\n'
        job = self.folder / "job.toml"
        job.write_text(text)
        return job

    def run_host(self, job, *arguments):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        process = subprocess.run(
            [str(HOST), "--config", str(job), "--report", str(report), *arguments], cwd=self.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=120, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertTrue(report.exists(), process.stderr)
        text = report.read_text()
        for shown in (text, process.stdout, process.stderr):
            self.assertNotIn(SECRET, shown)
        return process, json.loads(text)

    def broken(self, job, table, code, texts, exit_code):
        """What is wrong with how the host took this breach, if anything."""
        process, report = self.run_host(
            job, "--only", table, "--set", "connection.defects=true", "--set", "job.plugin_timeout=300ms", "--log-level", "debug")
        wrong = []
        if process.returncode != exit_code or report["exit_code"] != exit_code:
            wrong.append(f"exit code {process.returncode}, not {exit_code}")
        error = report.get("error") if exit_code == 2 else (report["tables"] or [{}])[0].get("error")
        if not error:
            return wrong + [f"no error: {json.dumps(report)[:600]}"]
        if error["code"] != code:
            wrong.append(f"code {error['code']}")
        if not error["hint"]:
            wrong.append("no hint")
        if exit_code == 1 and (report["tables"][0]["status"] != "failed" or report["tables"][0]["rows_landed"] != 0):
            wrong.append(f"status {report['tables'][0]['status']}, {report['tables'][0]['rows_landed']} rows landed")
        if exit_code == 2 and (report["tables"] or report["http"]["requests"]):
            wrong.append("something was asked first")
        for text in [f"lawless/{table}", *texts]:
            if text not in error["message"]:
                wrong.append(f"does not name {text}")
        if code not in process.stderr:
            wrong.append("the code is not on the terminal")
        if wrong:
            wrong.append(f"message: {error['message']} | hint: {error['hint']}")
        return wrong

    def check(self, destination):
        job = self.write_job("lawless", ["sound", *LAWS], destination)
        process, report = self.run_host(job)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertTrue(all(table["rows_landed"] == 3 for table in report["tables"]), report)
        before = digest(self.folder / "lake")
        self.assertGreater(len(before), 0)
        rows, failures = [], 0
        for table, (code, texts, exit_code) in LAWS.items():
            begin = time.monotonic()
            wrong = self.broken(job, table, code, texts, exit_code)
            after = digest(self.folder / "lake")
            changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
            if changed:
                wrong.append(f"the destination changed: {changed[:5]}")
                before = after
            failures += bool(wrong)
            rows.append(f"{table:32} {code:30} {time.monotonic() - begin:5.2f} s  {'; '.join(wrong) or 'ok'}")
        print("\n".join(rows), file=sys.stderr)
        self.assertEqual(failures, 0, "\n" + "\n".join(row for row in rows if not row.endswith("ok")))
        for path in self.folder.rglob("*"):  # nor does the secret lie in a state file
            if path.is_file() and path.name != "job.toml":
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)
        # What was lawful afterwards lands as if nothing had been.
        _, report = self.run_host(job, "--only", "sound", "--set", "connection.defects=true")
        self.assertEqual(report["tables"][0]["rows_landed"], 3, report)

    def test_each_law_into_delta(self):
        self.check('type = "delta"\npath = "lake"')

    def test_each_law_into_duckdb(self):
        self.check('type = "duckdb"\npath = "lake/lake.duckdb"')

    def test_a_table_that_hangs_lets_the_others_reach_their_bound(self):
        hanging = ["hangs_until_cancelled", "hangs_for_good", "is_empty_for_ever"]
        job = self.write_job("lawless", [*hanging, "sound"], 'type = "delta"\npath = "lake"')
        process, report = self.run_host(job, "--set", "connection.defects=true", "--set", "job.plugin_timeout=300ms")
        self.assertEqual(process.returncode, 3, process.stderr)
        for table in report["tables"]:
            if table["name"] == "sound":
                self.assertEqual((table["status"], table["rows_landed"]), ("reached_bound", 6))
            else:
                self.assertEqual((table["status"], table["error"]["code"]), ("failed", "plugin.timeout"), table)
        self.assertLess(report["seconds"], 10)

    def test_an_exception_of_a_plugin_is_its_tables_error(self):
        job = self.write_job("thrower", ["exception", "number"], 'type = "delta"\npath = "lake"')
        process, report = self.run_host(job)
        self.assertEqual(process.returncode, 1, process.stderr)
        for table in report["tables"]:
            error = table["error"]
            self.assertEqual(error["code"], "plugin.exception", error)
            self.assertIn(f"thrower/{table['name']}", error["message"])
            self.assertIn("{}", error["message"])
            self.assertTrue(error["hint"])
            if table["name"] == "exception":
                self.assertIn("the sky fell", error["message"])
        self.assertEqual(digest(self.folder / "lake"), {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
