#!/usr/bin/env python3
"""tools/check says "passed" only if no test failed at any try, and reports a failed test's second try. D-51.

Usage: test_check.py, with AL_SOURCE_DIR set. It runs a copy of tools/check with a cmake and a ctest that are made up. Exit codes: 0, 1 failed.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["AL_SOURCE_DIR"])
PARTS = ("tools/check", "tools/dev/steps.sh", "tools/dev/test_totals.py")
# ctest: AL_FIRST and AL_SECOND are the results of test "shaky", at the first run and at the rerun of failed tests.
CTEST = """#!/usr/bin/env python3
import os, pathlib, sys
again = "--rerun-failed" in sys.argv
word = os.environ["AL_SECOND" if again else "AL_FIRST"]
body = {"run": "", "fail": '<failure message=""/><system-out>it went wrong</system-out>', "notrun": '<skipped message=""/>'}[word]
others = "" if again else '<testcase name="sound" status="run" time="1"/>'
if "-N" in sys.argv:
    sys.exit(0)
out = sys.argv[sys.argv.index("--output-junit") + 1] if "--output-junit" in sys.argv else os.devnull
pathlib.Path(out).write_text(f'<testsuite>{others}<testcase name="shaky" status="{word}" time="1">{body}</testcase></testsuite>')
failed = pathlib.Path("build/release/Testing/Temporary/LastTestsFailed.log")
failed.parent.mkdir(parents=True, exist_ok=True)
failed.write_text("2:shaky\\n" if word == "fail" else "")
sys.exit(8 if word == "fail" else 0)
"""


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="al-check-"))
        for part in PARTS:
            (self.folder / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / part, self.folder / part)
        (self.folder / "tools/packages").write_text("")
        (self.folder / "bin").mkdir()
        for name, text in (("cmake", "#!/bin/sh\n"), ("ninja", "#!/bin/sh\n"), ("ccache", "#!/bin/sh\n"), ("ctest", CTEST)):
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def run_check(self, first, second):
        env = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "AL_FIRST": first, "AL_SECOND": second}
        done = subprocess.run([self.folder / "tools/check", "--quick"], capture_output=True, text=True, env=env, timeout=50, check=False)
        return done.returncode, done.stdout.rstrip().split("\n")

    def test_all_passes(self):
        code, lines = self.run_check("run", "run")
        self.assertEqual(code, 0, lines)
        self.assertIn("check: passed", lines[-1])
        self.assertIn("2 passed, 0 failed, 0 skipped", lines)

    def test_the_second_try_does_not_count(self):
        code, lines = self.run_check("fail", "run")
        self.assertEqual(code, 1, lines)
        self.assertIn("check: FAILED", lines[-1])
        self.assertIn("1 passed, 1 failed, 0 skipped", lines)
        self.assertTrue(any("failed both times: nothing; not steady, failed once and passed alone: shaky" in line for line in lines), lines)

    def test_what_always_fails_is_told_apart(self):
        code, lines = self.run_check("fail", "fail")
        self.assertEqual(code, 1, lines)
        self.assertTrue(any("failed both times: shaky; not steady, failed once and passed alone: nothing" in line for line in lines), lines)

    def test_wrong_words(self):
        done = subprocess.run([self.folder / "tools/check", "--quik"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 100)
        self.assertIn("--quik", done.stderr)


if __name__ == "__main__":
    unittest.main()
