# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A server without a valid identity gets no data, and a client certificate is sent only to its server."""

import base64
import os
import shlex
import shutil
import ssl
import subprocess
import unittest
import warnings

import rig
import tracking

COMMAND = os.environ["COMMAND"]
OPENSSL = shutil.which("openssl")
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
USER, PASSWORD = "ada", "p4ss:w0rd"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


class Tls(rig.Case):
    def setUp(self):
        super().setUp()
        if OPENSSL is None:
            self.skipTest("there is no openssl here to make certificates with")
        self.home = self.scratch / "home"
        self.home.mkdir()
        self.authority = self.certificate("authority", "/CN=authority", days=2)

    def openssl(self, *words):
        subprocess.run([OPENSSL, *map(str, words)], check=True, capture_output=True, timeout=60 * rig.SLACK, cwd=self.scratch)

    def certificate(self, name, subject, *extra, days=1):
        """Creates <name>.pem and <name>.key, self-signed."""
        self.openssl("req", "-x509", *KEY, "-nodes", "-days", days, "-subj", subject, "-keyout", f"{name}.key",
                     "-out", f"{name}.pem", *extra)
        return self.scratch / f"{name}.pem"

    def signed(self, name, host="IP:127.0.0.1", days=1):
        """Creates <name>.pem and <name>.key, signed by the authority."""
        (self.scratch / "extension").write_text(f"subjectAltName={host}\n", encoding="utf-8")
        self.openssl("req", *KEY, "-nodes", "-subj", "/CN=server", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial",
                     "-days", days, "-extfile", "extension", "-out", f"{name}.pem")
        return name

    def serve(self, name, newest=None, asks=False):
        """asks: requires a client certificate from the same authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.scratch / f"{name}.pem", self.scratch / f"{name}.key")
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.authority)
        if newest is not None:
            context.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():  # deprecated, but tested here
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = ssl.TLSVersion.TLSv1
                context.maximum_version = newest
        server = tracking.TrackingServer(tls=context)
        self.addCleanup(server.stop)
        return server

    def train(self, server, exit_ms=5000, **env):
        started = self.start(stdin=subprocess.PIPE, TAKT_TABLE=0, TAKT_EXIT_MS=exit_ms, MLFLOW_TRACKING_URI=server.url, HOME=self.home, **env)
        ended = started.end(60 * rig.SLACK, "5\n")
        self.assertEqual(ended.status, 0, ended)
        self.check_silence(ended.out + ended.err)
        return ended

    def check_silence(self, said):
        self.assertNotIn(PASSWORD, said)
        self.assertNotIn(BASIC.split()[1], said)
        for path in self.runs.rglob("*"):
            if path.is_file():
                self.assertNotIn(PASSWORD.encode(), path.read_bytes(), path)

    def check_delivered(self, server, ended):
        self.assertIn("delivered 1", ended.out, ended)
        self.assertEqual(server.only_run().steps("weight"), list(range(5)))

    def check_refused(self, server, ended, says):
        self.assertIn("delivered 0", ended.out, ended)
        self.assertRegex(ended.err, says)
        self.assertEqual(server.requests, [])

    # Identity of the server

    def test_unknown_authority_is_rejected_with_the_cure(self):
        server = self.serve(self.signed("server"))
        ended = self.train(server, 800)
        self.check_refused(server, ended, "certificate.*set MLFLOW_TRACKING_SERVER_CERT_PATH to its CA certificate")
        done = subprocess.run([COMMAND, "sync", "--patience", "0", self.runs], capture_output=True, text=True, check=False,
                              timeout=60 * rig.SLACK, env=rig.environment(MLFLOW_TRACKING_URI=server.url, HOME=self.home))
        self.assertEqual((done.returncode, server.requests), (3, []), done.stderr)
        self.assertIn("MLFLOW_TRACKING_SERVER_CERT_PATH", done.stderr)

    def test_the_authority_that_is_named_is_trusted(self):
        server = self.serve(self.signed("server"))
        ended = self.train(server, MLFLOW_TRACKING_SERVER_CERT_PATH=self.authority)
        self.check_delivered(server, ended)
        self.assertEqual(ended.err, "")

    def test_certificate_for_another_host_is_refused(self):
        server = self.serve(self.signed("server", "DNS:elsewhere.example"))
        self.check_refused(server, self.train(server, 800, MLFLOW_TRACKING_SERVER_CERT_PATH=self.authority),
                           "is one that its certificate names")

    def test_certificate_that_has_expired_is_refused(self):
        server = self.serve(self.signed("server", days=-1))
        self.check_refused(server, self.train(server, 800, MLFLOW_TRACKING_SERVER_CERT_PATH=self.authority), "expired")

    def test_a_custom_authority_takes_precedence_over_disabled_checks(self):
        server = self.serve(self.signed("server"))
        other = self.certificate("other", "/CN=other")
        self.check_refused(server, self.train(server, 800, MLFLOW_TRACKING_SERVER_CERT_PATH=other, MLFLOW_TRACKING_INSECURE_TLS="true"),
                           "MLFLOW_TRACKING_SERVER_CERT_PATH")

    def test_disabled_checks_are_reported(self):
        server = self.serve(self.signed("server", "DNS:elsewhere.example"))
        ended = self.train(server, MLFLOW_TRACKING_INSECURE_TLS="true")
        self.check_delivered(server, ended)
        self.assertIn("the identity of " + server.url + " is not verified", ended.err)

    def test_tls_1_1_is_refused(self):
        server = self.serve(self.signed("server"), ssl.TLSVersion.TLSv1_1)
        self.check_refused(server, self.train(server, 800, MLFLOW_TRACKING_SERVER_CERT_PATH=self.authority), "does not respond correctly")

    def test_the_authority_that_is_named_is_the_only_one(self):
        """The system's authorities are not used. The server's is among them, in a file system view of this program
        only."""
        if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no view of the files of one's own can be had here")
        system = self.scratch / "system"
        system.mkdir()
        name = subprocess.run([OPENSSL, "x509", "-hash", "-noout", "-in", str(self.authority)], check=True, capture_output=True,
                              text=True).stdout.strip()
        shutil.copy(self.authority, system / f"{name}.0")
        shutil.copy(self.authority, system / "ca-certificates.crt")
        server = self.serve(self.signed("server"))
        other = self.certificate("other", "/CN=other")
        for named, delivered in ((None, 1), (other, 0)):
            with self.subTest(named):
                env = rig.environment(MLFLOW_TRACKING_URI=server.url, HOME=self.home, TAKT_TABLE=0, TAKT_EXIT_MS=2000, TAKT_DIR=self.runs)
                if named is not None:
                    env["MLFLOW_TRACKING_SERVER_CERT_PATH"] = str(named)
                done = subprocess.run(["unshare", "-rm", "sh", "-c", f"mount --bind {shlex.quote(str(system))} /etc/ssl/certs && exec \"$0\"",
                                       rig.PROGRAM], input="5\n", capture_output=True, text=True, check=False, timeout=60 * rig.SLACK, env=env)
                self.assertIn(f"delivered {delivered}", done.stdout, done)

    def test_a_missing_path_is_reported_before_the_run(self):
        server = self.serve(self.signed("server"))
        for variable in ("MLFLOW_TRACKING_SERVER_CERT_PATH", "MLFLOW_TRACKING_CLIENT_CERT_PATH"):
            with self.subTest(variable):
                started = self.start(stdin=subprocess.PIPE, MLFLOW_TRACKING_URI=server.url, **{variable: "/nowhere"})
                self.assertIn(f"{variable}=/nowhere cannot be read", started.end(60 * rig.SLACK, "").err)

    # Identity of the client

    def with_key(self, name):
        """Returns one file with the certificate and the key."""
        file = self.scratch / f"{name}-both.pem"
        file.write_bytes((self.scratch / f"{name}.pem").read_bytes() + (self.scratch / f"{name}.key").read_bytes())
        return file

    def test_certificate_of_the_client_is_shown_to_a_server_that_asks_for_it(self):
        server = self.serve(self.signed("server"), asks=True)
        mutual = {"MLFLOW_TRACKING_SERVER_CERT_PATH": self.authority}
        self.check_refused(server, self.train(server, 800, **mutual), "does not respond correctly")
        self.certificate("other", "/CN=other")
        other = self.train(server, 800, **mutual, MLFLOW_TRACKING_CLIENT_CERT_PATH=self.with_key("other"))
        self.check_refused(server, other, "does not respond correctly")
        ended = self.train(server, **mutual, MLFLOW_TRACKING_CLIENT_CERT_PATH=self.with_key(self.signed("client")))
        self.check_delivered(server, ended)
        self.assertEqual(ended.err, "")

    def check_credentials(self, **env):
        server = self.serve(self.signed("server"))
        self.check_delivered(server, self.train(server, MLFLOW_TRACKING_SERVER_CERT_PATH=self.authority, **env))
        self.assertEqual({headers["Authorization"] for _, headers in server.requests}, {BASIC})

    def test_user_and_password_of_the_environment_reach_the_server(self):
        self.check_credentials(MLFLOW_TRACKING_USERNAME=USER, MLFLOW_TRACKING_PASSWORD=PASSWORD, MLFLOW_TRACKING_TOKEN="other")

    def test_user_and_password_of_the_file_reach_the_server(self):
        (self.home / ".mlflow").mkdir()
        (self.home / ".mlflow" / "credentials").write_text(
            f"[mlflow]\nmlflow_tracking_username = {USER}\nmlflow_tracking_password = {PASSWORD}\n", encoding="utf-8")
        self.check_credentials()

    def test_unreadable_credentials_are_reported_with_the_cure(self):
        (self.home / ".mlflow" / "credentials").mkdir(parents=True)  # unreadable for every user, even root
        server = self.serve(self.signed("server"))
        ended = self.train(server, MLFLOW_TRACKING_SERVER_CERT_PATH=self.authority)
        self.check_delivered(server, ended)
        self.assertIn("credentials cannot be read", ended.err)
        self.assertIn("MLFLOW_TRACKING_USERNAME", ended.err)

    def test_rejected_credentials_are_reported_with_the_cure(self):
        server = self.serve(self.signed("server"))
        server.fault = lambda *_: (401, "text/plain", f"no such user, or not {PASSWORD}".encode())
        ended = self.train(server, MLFLOW_TRACKING_SERVER_CERT_PATH=self.authority, MLFLOW_TRACKING_USERNAME=USER,
                           MLFLOW_TRACKING_PASSWORD=PASSWORD)
        self.assertIn("Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD", ended.err)


if __name__ == "__main__":
    rig.main()
