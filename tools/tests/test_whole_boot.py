#!/usr/bin/env python3
"""The trace of a boot (docs/examples/boot.etl.xz) through every reader of traces: report, compare, dumps, tracerpt, exports, analyses, relog and
redaction. Counts agree.
Proves CON-19, CON-22 (module!function in flame graphs), ANA-10.

Usage: test_whole_boot.py, with AL_BINARY_DIR and AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed."""
import csv
import io
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BIN, SOURCE = pathlib.Path(os.environ["AL_BINARY_DIR"]).resolve(), pathlib.Path(os.environ["AL_SOURCE_DIR"]).resolve()
failed = []


def check(true, *what):
    if not true:
        failed.append(what)
        print("FAILED:", *what)


def run(folder, *words):
    r = subprocess.run([str(BIN / "autologger"), *words], cwd=folder, capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, *words, "exit", r.returncode, r.stderr[-300:])
    return r.stdout


def reports(folder, events):
    boot = json.loads(run(folder, "report", "boot.etl", "--json", "-o", "boot.html"))
    check(boot["trust"]["events"] in (events, events - 1), "the report has", boot["trust"]["events"], "events of", events)  # the report does not count the header
    check(boot["verdict"]["rule"] == "lock" and "slow-holder.service" in boot["verdict"]["sentence"], boot["verdict"])
    check((folder / "boot.html").stat().st_size > 100_000, "the page")
    check(abs(boot["systemd"]["kernel"] - 6.418) < 0.01 and abs(boot["systemd"]["userspace"] - 41.824) < 0.01, "systemd's times", boot["systemd"])
    user = next(p for p in boot["phases"] if p["name"] == "user space")
    check(abs(user["end"] - user["start"] - 41824) < 10, "the phase has systemd's length", user)
    for p in boot["processes"]:
        life = p["end"] - p["start"]
        check(0 <= life and p["time"].get("running", 0) <= life * 64 + 1, "a process ran longer than it lived", p["command"])
    same = json.loads(run(folder, "compare", "boot.etl", "boot.etl", "--json"))
    check("as long as the other boot" in same["sentence"], same["sentence"])
    check(all(r["change"] == 0 for r in same["rows"]) and same["rows"][0]["before"] == same["rows"][0]["after"], "a boot against itself", same["rows"][:2])


def dumps(folder, events):
    check(run(folder, "dump", "boot.etl", "--format", "json").count("\n") == events, "events as JSON")
    check(run(folder, "dump", "boot.etl", "--format", "xml").count("<Event ") == events, "events as XML")
    check(run(folder, "dump", "boot.etl").count("\n") >= events, "events as text")
    rows = list(csv.reader(io.StringIO(run(folder, "dump", "boot.etl", "--format", "csv"), newline="")))
    check(len(rows) == events + 1 and all(len(r) == len(rows[0]) for r in rows), "events as CSV", len(rows))


def exports(folder):
    for form, name in (("perfetto", "boot.pftrace"), ("chrome", "boot.json"), ("ctf", "boot.ctf")):
        run(folder, "convert", "boot.etl", "--to", form, "-o", name)
        made = folder / name
        check(made.is_dir() and any(made.iterdir()) or made.is_file() and made.stat().st_size > 10_000, form, "is empty")
    folded = run(folder, "convert", "boot.etl", "--to", "folded", "--waiting", "-o", "-")
    check(folded.count("\n") > 100, "folded stacks of waits", folded[:200])
    check(re.search(r"^flock;.*;vmlinux!schedule;vmlinux!__schedule [0-9]+$", folded, re.M), "frames as module!function", folded[:200])
    json.loads((folder / "boot.json").read_text())


def analyses(folder, events):
    stats = json.loads(run(folder, "analyse", "stats", "boot.etl", "--json"))
    check(stats.get("events") == events, "stats:", stats.get("events"), "events of", events)
    pairs = json.loads(run(folder, "analyse", "delta", "boot.etl", "--begin", "Process/Start", "--end", "Process/End", "--by", "any", "--field", "ProcessId", "--json"))
    check(pairs["pairs"] > 100 and pairs["begins"] == pairs["pairs"] + pairs["open"] and pairs["ends"] == pairs["pairs"] + pairs["ends_without_begin"], "pairs", pairs["begins"], pairs["pairs"])
    check(pairs["time"]["least_us"] <= pairs["time"]["p50_us"] <= pairs["time"]["p99_us"] <= pairs["time"]["most_us"], pairs["time"])
    for topic, more in (("images", ()), ("losses", ()), ("activity", ()), ("state", ("--at", "20"))):
        json.loads(run(folder, "analyse", topic, "boot.etl", *more, "--json"))


def others(folder, events):
    """tracerpt's forms; a relog, which keeps everything; a redacted merge, which keeps every event."""
    run(folder, "tracerpt", "boot.etl", "-o", "all.xml", "-summary", "all.txt", "-report", "all.html")
    check((folder / "all.xml").read_text().count("<Event ") == events and f"Events  Processed {events}" in (folder / "all.txt").read_text(), "tracerpt's events")
    check((folder / "all.html").stat().st_size > 10_000, "tracerpt's report")
    run(folder, "relog", "boot.etl", "-o", "again.etl", "--compress")
    check(json.loads(run(folder, "summary", "again.etl", "--json"))["events"] == events, "events of the relog")
    check((folder / "again.etl").stat().st_size < (folder / "boot.etl").stat().st_size / 2, "the relog is not smaller")
    run(folder, "relog", "boot.etl", "-o", "hidden.etl", "--redact")
    check(json.loads(run(folder, "summary", "hidden.etl", "--json"))["events"] == events, "events of the redacted file")
    check("/run/lock/slow.lock" in run(folder, "dump", "boot.etl", "--provider", "Process") and "/run/lock/slow.lock" not in run(folder, "dump", "hidden.etl"), "arguments are redacted")


def main():
    with tempfile.TemporaryDirectory(prefix="autologger-whole-") as name:
        folder = pathlib.Path(name)
        (folder / "boot.etl").write_bytes(lzma.decompress((SOURCE / "docs/examples/boot.etl.xz").read_bytes()))
        events = json.loads(run(folder, "summary", "boot.etl", "--json"))["events"]
        reports(folder, events)
        dumps(folder, events)
        exports(folder)
        analyses(folder, events)
        others(folder, events)
        print(f"{events} events: {'FAILED' if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
