"""Events of a session that asks for it (EnableProperty CPU_TIME) carry KernelTime and UserTime of the writing thread, in agreement with getrusage:
not less than before the call, not more than before the next one; in the header in ticks, as on Windows. A session that did not ask has 0, and no
item. The daemon's death changes nothing.
D-13. Proves: COR-08."""
import json
import os
import re
import signal
import subprocess

from harness import BUILD, Machine, check

PROVIDER = "{1c9c1f4f-2f6e-4c55-9f6e-2b8f3f0a7d24}"
ROUNDS = 5
TICK = 15.625  # ms


def run(m):
    p = subprocess.run([os.path.join(BUILD, "tests", "cpu_times"), str(ROUNDS)], env=m.env, timeout=60)
    check(p.returncode == 0, "cpu_times ended with", p.returncode)


def events(m, name):
    path = os.path.join(m.logs, name)
    lines = m.tool("dump", path, "--provider", PROVIDER, "--json").stdout.splitlines()
    xml = m.tool("dump", path, "--provider", PROVIDER, "--format", "xml").stdout
    headers = [tuple(map(int, pair)) for pair in re.findall(r'KernelTime="(\d+)" UserTime="(\d+)"', xml)]
    rows = [json.loads(line) for line in lines]
    check(len(rows) == len(headers), len(rows), "events,", len(headers), "headers")
    return list(zip(rows, headers))


def asked(rows):
    """An event's times lie between the getrusage times around its call; the header has the same times, in ticks."""
    got = []
    for row, header in rows:
        kernel, user = map(int, row["cpuTimes"].split("/"))
        check(all(0 <= ns / 1e6 - ms <= TICK + 1 for ns, ms in zip((kernel, user), header)), "item", row["cpuTimes"], "header", header)
        got.append((row, kernel, user))
    first = got[:ROUNDS]
    for n, (row, kernel, user) in enumerate(first):
        data = row.get("data", row.get("fields", row))
        check(int(data["Kernel"]) <= kernel and int(data["User"]) <= user, "less than before:", row)
        if n + 1 < len(first):
            after = first[n + 1][0]
            after = after.get("data", after.get("fields", after))
            check(kernel <= int(after["Kernel"]) and user <= int(after["User"]), "more than later:", row, after)
    # a clock that ticks splits them coarsely: only their sum is exact
    check(first[-1][1] + first[-1][2] > ROUNDS * 100e6, "the rounds' work is not in it:", first[-1])
    check(got[ROUNDS][1] + got[ROUNDS][2] < 60e6, "the other thread's times are not its own:", got[ROUNDS])


def short_ones(rows):
    """The times of requests much shorter than a tick add up to what the program used in all."""
    total = {"Begin": 0, "End": 0, "Shorts": 0}
    for row, _ in rows:
        if row["event"] == "Shorts":
            total["Shorts"] += int(row["fields"]["Used"])
        elif row["event"] in total:
            total[row["event"]] += sum(map(int, row["cpuTimes"].split("/")))
    share = (total["End"] - total["Begin"]) / total["Shorts"]
    print(f"{len(rows)} events, {total['Shorts'] / 1e6:.0f} ms used, {share:.3f} of them between begin and end")
    check(0.5 < share <= 1.01, "what short requests used", total)


with Machine() as m:
    m.start()
    for name in ("asked", "silent"):
        m.tool("start", name, "-o", name + ".etl", "--set", "BufferSize=64KB")
    m.tool("enable", "asked", PROVIDER, "--property", "CPU_TIME")
    m.tool("enable", "silent", PROVIDER)
    run(m)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    run(m)
    m.shutdown()
    every = events(m, "asked.etl")
    short_ones(every)
    rows = [r for r in every if r[0]["event"] == "Used"]
    check(len(rows) == 2 * (ROUNDS + 1), len(rows), "events")
    asked(rows[:ROUNDS + 1])
    asked(rows[ROUNDS + 1:])
    rows = [r for r in events(m, "silent.etl") if r[0]["event"] == "Used"]
    check(len(rows) == 2 * (ROUNDS + 1) and all("cpuTimes" not in row and header == (0, 0) for row, header in rows), rows[:2])
