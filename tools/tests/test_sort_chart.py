#!/usr/bin/env python3
"""The chart of 40 runs in docs/speed is made from the data beside it. Proves: TLG-19.

Usage: test_sort_chart.py, with AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["AL_SOURCE_DIR"])


class Chart(unittest.TestCase):
    def test_the_chart_is_of_its_data(self):
        with tempfile.TemporaryDirectory(prefix="al-chart-") as folder:
            made = pathlib.Path(folder) / "chart.svg"
            data = SOURCE / "docs/speed/sort-runs.json"
            subprocess.run([sys.executable, str(SOURCE / "tools/dev/sort_chart.py"), str(data), str(made)], check=True)
            self.assertEqual(made.read_text(encoding="utf-8"), (SOURCE / "docs/speed/sort-runs.svg").read_text(encoding="utf-8"))
            self.assertEqual(made.read_text(encoding="utf-8").count("<circle"), 80)


if __name__ == "__main__":
    unittest.main()
