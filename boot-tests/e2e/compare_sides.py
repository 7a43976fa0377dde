"""Boots before a change against boots after it: recordings of a program that takes longer after the change. A gate on it fails and names
it, a gate with a wide limit holds, three recordings a side are too few; the medians and the shift are those of the events that the files have, by
another calculation. Text, JSON, JUnit's XML, exit codes."""
import json
import os
import re
import shutil
import statistics
import subprocess
import xml.etree.ElementTree as xml

from harness import BUILD, Machine, check, skip

SIDE = 8  # one of a side may be late, on a busy machine


def record(m, folder, number, seconds):
    work = os.path.join(m.dir, "work")
    with open(work, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\nexec sleep {seconds}\n")
    os.chmod(work, 0o755)
    ini = os.path.join(m.dir, "kernel.ini")
    with open(ini, "w", encoding="ascii") as f:
        f.write("[GlobalLogger]\nEnableKernelFlags = PROC_THREAD+LOADER\nFileName = C:\\kernel.etl\n")
    out = os.path.join(m.dir, "out")
    m.tool("rehearse", ini, "--out", out, "--run", os.path.join(m.dir, "step"))
    found = [os.path.join(root, f) for root, _, files in os.walk(out) for f in files if f.endswith(".etl")]
    check(len(found) == 1, found)
    shutil.move(found[0], os.path.join(folder, f"{number}.etl"))
    shutil.rmtree(out)


def step(m):
    """What is compared: a program with a name of its own."""
    path = os.path.join(m.dir, "step")
    with open(path, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\n{m.dir}/work\n")
    os.chmod(path, 0o755)
    return path


def length(m, trace, path):
    """Of the process of that program, from its first event to its last, in ms."""
    rows = [json.loads(line) for line in m.tool("dump", trace, "--provider", "Process", "--json").stdout.splitlines()]
    pid = next(r["fields"]["ProcessId"] for r in rows if r["event"] == "Start" and r["fields"]["CommandLine"] == f"/bin/sh {path}")
    own = [r for r in rows if r["fields"].get("ProcessId") == pid]  # fork, exec, end
    return (own[-1]["raw"] - own[0]["raw"]) / 1e6  # the clock counts ns


def compare(m, before, after, *args, expect):
    return m.tool("compare", before, "vs", after, *args, expect=expect)


def main():
    if os.geteuid():
        skip("needs root, for kernel events")
    with Machine() as m:
        name = step(m)
        sides = {}
        for side, seconds in (("before", 0.3), ("after", 0.9)):
            folder = os.path.join(m.dir, side)
            os.mkdir(folder)
            for i in range(SIDE):
                record(m, folder, i, seconds)
            sides[side] = folder
        old, new = sides["before"], sides["after"]
        junit = os.path.join(m.dir, "gates.xml")
        rule = f"process:{name} +20 %"
        r = compare(m, old, new, "--gate", rule, "--gate", f"process:{name} +900 %", "--junit", junit, "--json", expect=1)
        found = json.loads(r.stdout)
        check(found["bootsBefore"] == found["bootsAfter"] == SIDE, found)
        exceeded, holds = found["gates"]
        check(exceeded["verdict"] == "exceeded" and exceeded["name"] == name and holds["verdict"] == "holds", found["gates"])
        lengths = {s: [length(m, os.path.join(sides[s], f"{i}.etl"), name) for i in range(SIDE)] for s in sides}
        for s in sides:
            check(abs(exceeded[s] - statistics.median(lengths[s])) < 2, s, exceeded[s], lengths[s])
        shift = statistics.median(b - a for a in lengths["before"] for b in lengths["after"])
        check(abs(exceeded["change"] - shift) < 2 and exceeded["low"] <= exceeded["change"] <= exceeded["high"] and exceeded["effect"] == 1, exceeded, shift)
        suite = xml.parse(junit).getroot()
        check((suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0"), suite.attrib)
        check([c.get("name") for c in suite] == [rule, f"process:{name} +900 %"] and suite[0][0].tag == "failure", [c.attrib for c in suite])
        text = compare(m, old, new, "--gate", f"process:{name} +900 %", expect=0).stdout
        check("holds (1 item)" in text and re.search(r"process .*\+0\.[5-9]", text), text)
        compare(m, new, old, "--gate", rule, expect=0)  # quicker is never a failure
        few = [[os.path.join(side, f"{i}.etl") for i in range(3)] for side in (old, new)]
        r = m.tool("compare", *few[0], "vs", *few[1], "--gate", rule, expect=2)
        check("not known yet" in r.stdout and "Do: boot about 2 more times" in r.stdout, r.stdout)
        with open(os.path.join(new, "broken.etl"), "wb") as f:
            f.write(b"no trace")
        r = compare(m, old, new, "--gate", rule, expect=1)
        check("broken.etl is left out" in r.stderr, r.stderr)
        r = subprocess.run([os.path.join(BUILD, "autologger"), "compare", old, "vs", new, "--gate", rule, "--junit", os.path.join(m.dir, "no", "x.xml")],
                           capture_output=True, text=True, timeout=60)
        check(r.returncode not in (0, 2) and "x.xml" in r.stderr, r.returncode, r.stderr)


main()
