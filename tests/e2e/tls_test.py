"""GitHub over TLS, as host/demo.sh loads from it: the certificate's chain and name are checked, and a private CA can be named."""

import unittest

from harness import GitHub, Scratch


class PrivateAuthority(Scratch):
    def server_with_tls(self, **settings):
        self.ca = self.folder / "ca.pem"
        server = GitHub(issues=250, tls=True, ca_out=self.ca, **settings)
        self.addCleanup(server.stop)
        return server, f"https://127.0.0.1:{server.tls_port}"

    def test_a_private_ca_is_trusted_where_the_job_or_the_environment_names_it(self):
        server, url = self.server_with_tls()
        self.run_job(self.job(url, ["issues"], connection='ca_file = "ca.pem"'))
        self.assert_equals_truth(server, "issues")
        job = self.job(url, [{"source": '"issues"', "destination": '"again"'}], job='state = "state2"')
        self.run_job(job, env={"SSL_CERT_FILE": str(self.ca)})
        self.assert_equals_truth(server, "issues", destination="again")

    def test_an_unknown_ca_is_refused_before_the_token_is_sent(self):
        server, url = self.server_with_tls()
        run = self.run_job(self.job(url, ["issues"], connection="retry = { attempts = 1 }"), code=1)
        error = run.report["tables"][0]["error"]
        self.assertIn("certificate", error["message"])
        self.assertIn("ca_file", error["hint"])
        self.assertEqual(server.ask("stats")["with_authorization"], 0)

    def test_a_certificate_of_another_name_is_refused(self):
        server, url = self.server_with_tls(tls_names=["github.example"])
        run = self.run_job(self.job(url, ["issues"], connection='ca_file = "ca.pem"\nretry = { attempts = 1 }'), code=1)
        self.assertIn("127.0.0.1", run.report["tables"][0]["error"]["message"])
        self.assertEqual(server.ask("stats")["with_authorization"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
