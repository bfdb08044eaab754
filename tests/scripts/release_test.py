# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/release.sh, its errors and its output, in a separate repository with the files that it reads."""

import datetime
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TODAY = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
GIT = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-release-")
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)
        for path in ("scripts/release.sh", "scripts/lib.sh", ".gitignore", "include/takt/config.hpp"):
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.tree / path)
        self.replace("include/takt/config.hpp", "_MAJOR 0\n", "_MAJOR 7\n")
        self.version = "7." + ".".join(self.header(part) for part in ("MINOR", "PATCH"))
        self.write("README.md", f"This is version {self.version}.\n")
        self.write("CHANGELOG.md", f"## [Unreleased]\n\n## [{self.version}] - {TODAY}\n\n### Added\n\n- All.\n\n"
                                   "## [0.0.1] - 2020-01-01\n\n- Some.\n")
        self.write("scripts/test.sh", "echo tested\n")
        self.git("init", "-q")
        self.commit()

    def header(self, part):
        text = (self.tree / "include/takt/config.hpp").read_text(encoding="utf-8")
        return next(line.split()[2] for line in text.splitlines() if f"TAKT_VERSION_{part} " in line)

    def write(self, path, text):
        (self.tree / path).write_text(text, encoding="utf-8")

    def replace(self, path, old, new):
        text = (self.tree / path).read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.write(path, text.replace(old, new, 1))

    def git(self, *arguments):
        # An identity for the tag, and no settings of this machine.
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.tree), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run([*GIT, *arguments], cwd=self.tree, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "All")

    def release(self, *arguments):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.tree), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        for role in ("AUTHOR", "COMMITTER"):
            environment.update({f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"})
        return subprocess.run(["bash", "scripts/release.sh", *arguments], cwd=self.tree, env=environment, check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)

    def refused(self, why, *arguments):
        done = self.release(*(arguments or ("--dry-run", self.version)))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("No release: ", done.stdout)
        self.assertIn(why, done.stdout)
        self.assertFalse((self.tree / "dist").exists(), done.stdout)
        return done.stdout

    def archive(self):
        return self.tree / "dist" / f"takt-{self.version}.tar.gz"

    def test_a_dry_run_makes_only_the_archive(self):
        done = self.release("--dry-run", self.version)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("tested", done.stdout)
        self.assertEqual(self.git("tag"), "")
        with tarfile.open(self.archive()) as archive:
            files = {member.name for member in archive.getmembers() if member.isfile()}
        listed = {f"takt-{self.version}/{path}" for path in self.git("ls-files").splitlines()}
        self.assertEqual(files, listed)

    def test_the_same_commit_gives_the_same_bytes(self):
        self.release("--dry-run", self.version)
        first = self.archive().read_bytes()
        self.archive().unlink()
        self.release("--dry-run", self.version)
        self.assertEqual(self.archive().read_bytes(), first)
        self.assertEqual(first[4:8], bytes(4), "gzip has written the time")
        sums = self.archive().with_name(self.archive().name + ".sha256").read_text(encoding="utf-8")
        self.assertEqual(sums, f"{hashlib.sha256(first).hexdigest()}  {self.archive().name}\n")

    def test_a_release_is_tested_and_tagged(self):
        done = self.release(self.version)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("tested\n", done.stdout)
        self.assertEqual(self.git("cat-file", "-t", f"v{self.version}"), "tag")
        self.assertEqual(self.git("rev-parse", f"v{self.version}^{{commit}}"), self.git("rev-parse", "HEAD"))
        self.assertTrue(self.archive().is_file())
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_failing_tests_prevent_a_release(self):
        self.write("scripts/test.sh", "exit 1\n")
        self.commit()
        self.refused("scripts/test.sh failed", self.version)
        self.assertEqual(self.git("tag"), "")

    def test_a_dirty_tree_is_rejected(self):
        self.write("stray.txt", "")
        self.refused("the tree is not clean")

    def test_a_different_version_in_the_header_is_rejected(self):
        self.replace("include/takt/config.hpp", "_PATCH " + self.header("PATCH"), "_PATCH 77")
        self.commit()
        self.refused(f"include/takt/config.hpp says {self.version.rsplit('.', 1)[0]}.77, not {self.version}")

    def test_a_different_version_in_the_readme_is_rejected(self):
        self.write("README.md", "This is version 0.0.1.\n")
        self.commit()
        self.refused("README.md does not say")

    def test_a_changelog_without_the_version_is_rejected(self):
        self.replace("CHANGELOG.md", f"## [{self.version}] - {TODAY}\n", "")
        self.commit()
        self.refused("it has: none")

    def test_a_changelog_with_the_wrong_date_is_rejected(self):
        self.replace("CHANGELOG.md", TODAY, "2020-01-02")
        self.commit()
        self.refused(f"it has: ## [{self.version}] - 2020-01-02")

    def test_a_changelog_without_entries_is_rejected(self):
        self.replace("CHANGELOG.md", "- All.\n", "")
        self.commit()
        self.refused("CHANGELOG.md lists nothing")

    def test_an_existing_tag_is_rejected(self):
        self.git("tag", f"v{self.version}")
        self.refused(f"there is a tag v{self.version}")

    def test_no_version(self):
        for arguments in ((), ("--dry-run",), ("7.1",), (f"v{self.version}",), (self.version, "more")):
            done = self.release(*arguments)
            self.assertEqual((done.returncode, done.stdout.splitlines()[0][:24]), (2, "Makes a release of the c"), done.stdout)


if __name__ == "__main__":
    if shutil.which("git") is None:
        print("no git")
        sys.exit(77)
    unittest.main()
