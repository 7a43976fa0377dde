"""Losses have a place: the daemon is stopped (SIGSTOP) in the middle of a storm for longer than its rings hold. The kernel counts the losses; the
file gives time, CPU and source of all of them; the time is that of the stop, and summary shows it.
Proves: ANA-12, COR-20, and issue 4 "ring losses per event id ... in EventsLost, in band with time and CPU, in the summary over time"."""
import datetime
import json
import os
import signal
import subprocess
import time

from harness import BUILD, Machine, check, skip

STOPPED, SLACK = 2.5, 0.5
DECLARED = """[GlobalLogger]
EnableKernelFlags = PROC_THREAD+CSWITCH+DISPATCHER
BufferSize        = 1024 KB
MinimumBuffers    = 16
MaximumBuffers    = 256
FileName          = C:\\losses.etl
"""
if os.getuid() != 0:
    skip("kernel events need root")


def seconds(text):
    return datetime.datetime.fromisoformat(text[:26] + "+00:00").timestamp()


def run_stopped_in_the_storm():
    """A stop in the middle of the storm, with as many waiting records as the rings hold: all recorded events are in the file, on each CPU."""
    with Machine(DECLARED) as m:
        m.start()
        storm = subprocess.Popen([os.path.join(BUILD, "tests", "storm"), "6", "4", "100", "200000"], stdout=subprocess.PIPE)
        m.processes.append(storm)
        time.sleep(1)
        os.kill(m.daemon_pid(), signal.SIGSTOP)
        time.sleep(1)
        os.kill(m.daemon_pid(), signal.SIGCONT)
        last = json.loads(m.tool("stop", "--json", "NT Kernel Logger", timeout=120).stdout)
        loss = json.loads(m.tool("summary", "--json", os.path.join(m.logs, "c", "losses.etl")).stdout)["loss"]
        recorded = last["attempted_kernel"] - last["events_lost"]
        check(recorded > 100000 and last["events_written"] >= recorded, "recorded, and in the file:", recorded, last["events_written"])
        check(loss["counted"] == loss["placed"] == last["events_lost"], loss, last)


run_stopped_in_the_storm()
with Machine(DECLARED) as m:
    m.start()
    storm = subprocess.Popen([os.path.join(BUILD, "tests", "storm"), "6", "4", "100", "200000"], stdout=subprocess.PIPE)
    m.processes.append(storm)
    time.sleep(1)
    daemon = m.daemon_pid()
    began = time.time()
    os.kill(daemon, signal.SIGSTOP)
    time.sleep(STOPPED)
    ended = time.time()
    os.kill(daemon, signal.SIGCONT)
    check(storm.wait(60) == 0, "the storm failed")
    last = json.loads(m.tool("stop", "--json", "NT Kernel Logger", timeout=120).stdout)
    m.shutdown()
    trace = os.path.join(m.logs, "c", "losses.etl")
    loss = json.loads(m.tool("summary", "--json", trace).stdout)["loss"]
    print({k: last[k] for k in last if k.startswith("lost_") or k in ("withheld", "events_lost", "attempted_kernel")}, loss)

    # counted, and each with a place
    check(last["lost_ring"] > 1000, "too little was lost:", last)
    check(loss["counted"] == loss["placed"] == last["events_lost"], loss, last)
    parts = {"ring": last["lost_ring"], "memory": last["lost_memory"], "conversion": last["lost_conversion"], "withheld": last["withheld"]}
    for cause, number in parts.items():
        check(sum(g["count"] for g in loss["gaps"] if g["cause"] == cause) == number, cause, number, loss["gaps"])
        check(sum(s["count"] for s in loss["sources"] if s["cause"] == cause) == number, cause, number, loss["sources"])
    # the losses are of recorded sources, from the time of the stop
    check({"sched:sched_switch", "sched:sched_waking"} <= {s["source"] for s in loss["sources"] if s["cause"] == "ring"}, loss["sources"])
    ring = [g for g in loss["gaps"] if g["cause"] == "ring"]
    check(len({g["cpu"] for g in ring}) >= 1 and all(g["cpu"] < os.cpu_count() for g in ring), ring)
    inside = sum(g["count"] for g in ring if began - SLACK <= seconds(g["from"]) and seconds(g["to"]) <= ended + SLACK)
    check(inside >= 0.9 * last["lost_ring"], "lost while the daemon stood still:", inside, "of", last["lost_ring"], began, ended, ring)
    text = m.tool("summary", trace).stdout
    check(f"loss over time  {last['events_lost']} of {last['events_lost']} events lost have a place" in text, text[:2000])
