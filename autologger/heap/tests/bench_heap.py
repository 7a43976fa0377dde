"""What tracing a program's heap costs, beside heaptrack, in one run by turns: a program that only allocates and frees, from the depth of 20
functions, and a program of others (Python, which parses JSON). Prints medians and ratios. heaptrack interprets its data while the program runs;
"raw" is without that. perf is beside it where the kernel has uprobes: without them there is nothing to compare."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["AL_BINARY_DIR"]
PROGRAM = os.path.join(BUILD, "tests", "heap_bench_program")
PYTHON = [os.path.realpath(sys.executable), "-S", "-c", "import json\nfor i in range(60): json.loads(json.dumps([{'a': i, 'b': str(j) * 9} for j in range(2000)]))"]
ROUNDS = 5


def timed(words, folder):
    began = time.monotonic()
    r = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.monotonic() - began
    said = re.search(r"round ([\d.]+)", r.stderr + r.stdout)
    return float(said[1]) if said else seconds * 1e9


def main():
    if not shutil.which("heaptrack"):
        print("skipped: heaptrack is not installed (tools/bench-peers)")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="autologger-bench-heap-")
    try:
        for name, program in (("allocations alone", [PROGRAM]), ("python", PYTHON)):
            ways = {"plain": program, "autologger": [os.path.join(BUILD, "autologger"), "heap", "--no-report", "-o", "a.etl", *program],
                    "heaptrack": ["heaptrack", "-o", "h", *program], "heaptrack raw": ["heaptrack", "-r", "-o", "h", *program]}
            took = {way: [] for way in ways}
            for _ in range(ROUNDS):
                for way, words in ways.items():
                    took[way].append(timed(words, folder))
                    for left in os.listdir(folder):
                        os.unlink(os.path.join(folder, left))
            m = {way: statistics.median(t) for way, t in took.items()}
            over = {way: m[way] - m["plain"] for way in m}
            print(f"{name}: plain {m['plain']:.0f} ns, autologger {m['autologger']:.0f}, heaptrack {m['heaptrack']:.0f}, raw {m['heaptrack raw']:.0f}; "
                  f"overhead of heaptrack's: {over['autologger'] / over['heaptrack']:.2f}, of raw {over['autologger'] / over['heaptrack raw']:.2f}")
    finally:
        shutil.rmtree(folder)


main()
