#!/usr/bin/env python3
"""The page of 5,000,000 events: built in under 30 s of processor time, under 15 MB, with bounded memory; its first paint under 1 s.

Usage: bench_page.py, with AL_BINARY_DIR set. Times are of this machine; the first paint is only judged where the machine is not busy.
Exit codes: 0, 1."""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import Browser, Missing  # noqa: E402

BIN, EVENTS = pathlib.Path(os.environ["AL_BINARY_DIR"]), 5_000_000


def main():
    wrong = []
    with tempfile.TemporaryDirectory(prefix="autologger-bench-page-") as folder:
        trace, page = pathlib.Path(folder) / "big.etl", pathlib.Path(folder) / "big.html"
        subprocess.run([BIN / "tests/big_trace", trace, str(EVENTS)], check=True, stdout=subprocess.DEVNULL)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([BIN / "autologger", "report", trace, "-o", page], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{EVENTS:,} events, {trace.stat().st_size:,} bytes: page of {page.stat().st_size:,} bytes after {time.monotonic() - begun:.1f} s, {cpu:.1f} s of a processor, "
              f"at most {after.ru_maxrss // 1024} MB")
        for name, value, most in (("seconds of a processor", cpu, 30), ("bytes", page.stat().st_size, 15_000_000), ("MB of memory", after.ru_maxrss / 1024, 256)):
            if value >= most:
                wrong.append(f"{value:.1f} {name}: more than {most}")
        try:
            with Browser() as b:
                b.open(page, timeout=120)
                paint = b.run("performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)[0]")
                print(f"first paint after {paint:.0f} ms")
                if paint >= 1000 and os.getloadavg()[0] < os.cpu_count():
                    wrong.append(f"first paint after {paint:.0f} ms")
        except Missing as e:
            print(e)
    for line in wrong:
        print("FAILED:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
