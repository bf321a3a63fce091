"""Every command of the README's table works as it stands there, and its job file is a right one."""

import re
import shlex
import unittest

from harness import PLUGINS, SOURCE, Scratch

README = (SOURCE / "README.md").read_text()


class Commands(Scratch):
    def test_the_commands_of_the_table(self):
        server = self.server(issues=20)
        self.job(server, ["issues"])
        commands = re.findall(r"^\| `lakeflow-host ([^`]*)` \|", README, re.MULTILINE)
        self.assertGreaterEqual(len(commands), 8)
        for command in commands:
            with self.subTest(command):
                process = self.host(*shlex.split(command.replace("[run] ", "")), env={"LAKEFLOW_PLUGIN_PATH": str(PLUGINS)})
                self.assertEqual(process.returncode, 0, process.stderr)

    def test_the_job_file(self):
        text = re.search(r"```toml\n(.*?)```", README, re.DOTALL).group(1)
        server = self.server(issues=20, commits=20, repo="apache/arrow")
        job = self.folder / "job.toml"
        job.write_text(text.replace("[connection]", f'[connection]\nbase_url = "{server.url}"'))
        from harness import TOKEN

        run = self.run_job(job, "--plugin", PLUGINS / "github.so", env={"GITHUB_TOKEN": TOKEN})
        self.assertEqual([table["rows_landed"] for table in run.report["tables"]], [20, 20])


if __name__ == "__main__":
    unittest.main(verbosity=2)
