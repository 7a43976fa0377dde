"""Programs that are hit at any moment. 1,000 (AL_FULL=1: 10,000) are ended by SIGKILL, at any point of their start or in the middle of writing: every
event whose call had returned is in the file once, nothing is torn, attempted = written + lost. A program that writes without a pause is stopped by
SIGSTOP 100 (1,000) times, and the session is flushed each time: with rseq, and without (where a stop can fall between reserving and publishing), no
flush waits longer than its bound.
Proves: COR-06, COR-07, COR-12, COR-18, COR-20."""
import os
import subprocess

from harness import BUILD, FULL, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
KILLS = 10000 if FULL else 1000
STOPS = 1000 if FULL else 100
BOUND_MS = 5000  # the flush's own bound: then it returns 1460
BUFFERS = ("--set", "BufferSize=64KB", "--set", "MinimumBuffers=64", "--set", "MaximumBuffers=512", "--set", "MaxFileSize=0")


def storm(m, *args, **env):
    r = subprocess.run([os.path.join(BUILD, "tests", "write_storm"), *args], env=dict(m.env, **env), capture_output=True, text=True)
    check(r.returncode == 0, "write_storm", *args, "-> exit", r.returncode, r.stderr)
    return r.stdout


def verify(m, file, board):
    r = subprocess.run([os.path.join(BUILD, "tests", "storm_verify"), os.path.join(m.logs, file), board], capture_output=True, text=True)
    print(file, r.stdout.strip(), r.stderr.strip())
    check(r.returncode == 0, "storm_verify", file, "-> exit", r.returncode)
    return {k: int(v) for k, v in (pair.split("=") for pair in r.stdout.split())}


def balance(got, writers):
    # a call that was cut off before it wrote is neither written nor lost; a refused one that could not report it is lost
    unknown = got["attempted"] - got["events"] - got["events_lost"]
    check(0 <= unknown <= writers, "attempted = written + lost, but for the call in which a program was hit:", got)
    check(got["extra"] <= writers and got["refused"] <= got["events_lost"] <= got["refused"] + writers, got)


with Machine() as m:
    m.start()
    m.tool("start", "killed", *BUFFERS, "--output", "killed.etl", "--provider", PROVIDER)
    board = os.path.join(m.dir, "board")
    storm(m, "kill", board, str(KILLS))
    m.tool("stop", "killed")
    got = verify(m, "killed.etl", board)
    balance(got, KILLS)
    check(got["events"] > KILLS, "hardly anything was written", got)
    for name, env in (("rseq", {}), ("fallback", {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})):
        m.tool("start", name, *BUFFERS, "--output", name + ".etl", "--provider", PROVIDER)
        longest = float(storm(m, "stop", board, str(STOPS), name, **env))
        m.tool("stop", name)
        got = verify(m, name + ".etl", board)
        balance(got, 1 if name == "rseq" else STOPS)
        print(name, "stopped", STOPS, "times; the longest flush took", longest, "ms")
        check(longest < BOUND_MS, "a flush waited", longest, "ms")
    print("killed", KILLS, "times")
