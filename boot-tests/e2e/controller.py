"""A controller written as for Windows: every function and error of evntrace.h's controller half against a real daemon; a controller's session
survives the daemon's death without a loss, and its provider stays enabled.
Proves: ENB-01, ENB-02, ENB-06, API-08, LGT-04, KRN-01, KRN-02, KRN-13, KRN-14, KRN-18, KRN-20, CTL-18, CTL-19, SES-04, SES-21 (the timer's default), SES-21."""
import json
import os
import signal
import subprocess
import time

from harness import BUILD, Machine, check

WRITER = "{5ca1ab1e-7e57-0001-8000-000000000001}"


def program(m, *args, quiet=False):
    r = subprocess.run([os.path.join(BUILD, "tests", "trace_controller"), *args], env=m.env, capture_output=True, text=True, timeout=60)
    if not quiet:
        print(r.stdout, r.stderr)
    return r.returncode


def daemon_pid(m):
    children = f"/proc/{m.keeper.pid}/task/{m.keeper.pid}/children"
    with open(children) as f:
        return int(f.read().split()[0])


def over_a_death(m):
    """Started, enabled, killed, changed, stopped: attempted = written, through each death of the daemon."""
    m.tool("start", "web", "--output", "web.etl", "--set", "BufferSize=64KB", "--set", "MaximumBuffers=128")
    m.tool("enable", "web", "Contoso-Web", "--level", "Informational")
    written = 0
    for kill in range(3):
        for _ in range(10):
            m.tool("write", "Contoso-Web", "Step", f"n={written}")
            written += 1
        os.kill(daemon_pid(m), signal.SIGKILL)
        m.wait_ready()
        r = m.tool("enable", "web", "Contoso-Web", "--level", "Verbose" if kill else "Informational", "--wait", "2000", "--json")
        check(json.loads(r.stdout)["done"] == "enabled", r.stdout)
    m.tool("disable", "web", "Contoso-Web")
    m.tool("write", "Contoso-Web", "Late", expect=1)
    r = m.tool("stop", "web", "--json")
    check(json.loads(r.stdout)["events_written"] == written, r.stdout, written)
    r = m.tool("dump", os.path.join(m.logs, "web.etl"), "--json")
    got = [json.loads(line) for line in r.stdout.splitlines()]
    numbers = [e["fields"]["n"] if "fields" in e else None for e in got if e.get("event", e.get("name")) == "Step" or "Step" in json.dumps(e)]
    check(len(numbers) == written, len(numbers), written)
    print("over 3 deaths of the daemon:", written, "events written, none lost")


TAKEN = (0xFF, 0xAB, 0xAB, 0x0D, 0x21, 0x81, 0x01, 0x01)  # a bit for each event, by trace_controller's rows of keywords


def categories(m):
    """ENB-01: the file has exactly the events that MatchAnyKeyword and MatchAllKeyword let in, by EnableTraceEx2 and by EnableTraceEx."""
    got = [json.loads(line)["id"] for line in m.tool("dump", os.path.join(m.logs, "categories.etl"), "--json").stdout.splitlines()]
    once = [[100 + 10 * row + k for k in range(8) if bits >> k & 1] for row, bits in enumerate(TAKEN)]
    wanted = [number for row in once for number in row * 2]
    check([number for number in got if number >= 100] == wanted, got, wanted)


with Machine() as m:
    m.start()
    check(program(m, os.path.join(m.logs, "life.etl")) == 0, "trace_controller")
    r = m.tool("dump", os.path.join(m.logs, "filters.etl"), "--json")
    check(sum(json.loads(line)["id"] == 3 for line in r.stdout.splitlines()) == 2, "one of three events was for others", r.stdout)
    # SES-04: the files that FlushTrace made of a ring in memory; the second has the first's events, too
    for name, count in (("ring.etl", 5), ("ring-2.etl", 8)):
        path = os.path.join(m.logs, name)
        header = json.loads(m.tool("summary", path, "--json").stdout)["header"]
        check(header["logger"] == "ring" and header["buffersWritten"] == header["buffersFound"] > 1, name, header)
        check(sum(json.loads(line)["id"] == 9 for line in m.tool("dump", path, "--json").stdout.splitlines()) == count, name)
    categories(m)
    over_a_death(m)
    m.keeper.send_signal(signal.SIGTERM)
    m.keeper.wait(20)
    check(program(m, quiet=True) == 1, "without a daemon every call must say 4201")
