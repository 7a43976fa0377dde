"""Programs that fork (with exec, without, while another thread registers), close every descriptor they did not open, log from a signal handler that
interrupts a write, and from constructors and destructors of libraries, linked and loaded: each of their events is in the file once.
Proves: COR-06, API-02, API-04, API-12."""
import os
import struct
import subprocess

from harness import BUILD, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
NAMES = ("parent", "child", "executed", "spawned", "closefrom", "handler", "interrupted", "library", "loaded")
LEAST = (1000, 500, 500, 500, 1000, 500, 1, 100, 500)
PROGRAM = os.path.join(BUILD, "tests", "odd_program")

with Machine() as m:
    os.chmod(m.dir, 0o755)  # one of the programs becomes another user
    m.start()
    m.tool("start", "odd", "--set", "MinimumBuffers=64", "--set", "MaximumBuffers=256", "--output", "odd.etl", "--provider", PROVIDER)
    board = os.path.join(m.dir, "board")
    env = dict(m.env, ODD_BOARD=board)
    subprocess.run([PROGRAM, "make"], env=env, check=True)
    for how in ({}, {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}):  # without rseq too
        r = subprocess.run([PROGRAM, "run", os.path.join(BUILD, "tests", "libodd_loaded.so")], env=dict(env, **how), capture_output=True, text=True, timeout=60)
        check(r.returncode == 0, "odd_program -> exit", r.returncode, r.stderr)
    m.tool("stop", "odd")
    r = subprocess.run([os.path.join(BUILD, "tests", "storm_verify"), os.path.join(m.logs, "odd.etl"), board], capture_output=True, text=True)
    print(r.stdout.strip(), r.stderr.strip(), sep="\n")
    check(r.returncode == 0, "storm_verify -> exit", r.returncode, r.stderr)
    got = {k: int(v) for k, v in (pair.split("=") for pair in r.stdout.split())}
    check(got["events"] == got["attempted"] - got["refused"] and got["events_lost"] == got["refused"], "attempted = written + lost", got)
    with open(board, "rb") as f:
        f.read(8)
        for name, least in zip(NAMES, LEAST):
            attempted, done, refused = struct.unpack("<QQQQ", f.read(32))[:3]
            print(f"{name}: {attempted} calls, {done} written, {refused} refused")
            check(attempted >= 2 * least, name, "made", attempted, "calls, at least", 2 * least, "were to be made")
