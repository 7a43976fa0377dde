#!/usr/bin/env python3
"""Totals of ctest's JUnit files: a line a file, the failed and skipped tests by name; with --sum one line over all of them; with --steady (a run, and
a second one of its failed tests) the tests that failed both times and those that failed only once.

Usage: test_totals.py [--sum] FILE.xml... | --steady FIRST.xml SECOND.xml. Exit codes: 0; files that are missing count as nothing.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree

SHOWN = 20  # lines of a failed test's output
TELLING = re.compile(r"ERROR|SUMMARY|runtime error|#[0-3] ")


def totals(path):
    passed, failed, skipped, seconds = 0, [], [], 0.0
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        seconds += float(case.get("time") or 0)
        if case.get("status") == "fail" or case.find("failure") is not None:
            failed.append((case.get("name"), case.findtext("system-out") or ""))
        elif case.get("status") in ("notrun", "disabled") or case.find("skipped") is not None:
            skipped.append(case.get("name"))
        else:
            passed += 1
    return passed, failed, skipped, seconds


def worth_showing(lines):
    """The end of the output, and before it the lines that name an error."""
    telling = [line for line in lines[:-SHOWN] if TELLING.search(line)]
    return telling[:SHOWN] + lines[-SHOWN:]


def main():
    as_sum = "--sum" in sys.argv
    found = [totals(p) for p in map(pathlib.Path, sys.argv[1:]) if p.suffix == ".xml" and p.is_file()]
    passed, failed, skipped = (sum(f[0] for f in found), sum(len(f[1]) for f in found), sum(len(f[2]) for f in found))
    if as_sum:
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
        return
    if "--steady" in sys.argv:
        first, again = ([name for name, _ in f[1]] for f in (found + [(0, [], [], 0)])[:2])
        both = [name for name in first if name in again]
        once = [name for name in first if name not in again]
        print(f"         failed both times: {', '.join(both) or 'nothing'}; not steady, failed once and passed alone: {', '.join(once) or 'nothing'}")
        return
    for _, names_failed, names_skipped, seconds in found:
        for name, output in names_failed:
            print(f"         FAILED: {name}")
            print("\n".join(f"         | {line}" for line in worth_showing(output.rstrip().split("\n"))))
        if names_skipped:
            print(f"         skipped: {', '.join(names_skipped)}")
        print(f"         {passed} passed, {failed} failed, {skipped} skipped ({seconds:.0f} s of tests)")


if __name__ == "__main__":
    main()
