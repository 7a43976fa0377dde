"""A program that writes its user's memory by hand, with times of the far future, of the past, or running backwards: its events neither wait for ever
nor take resources from other users. They get the time at which they are read, no buffer's times go back, the session names the user, and other users
lose nothing, while the program runs and when it has ended. F4, F10."""
import json
import os
import struct
import subprocess
import time

from harness import BUILD, Machine, check, skip

BAD, GOOD = 6001, 6002
FUTURE = (1 << 64) - 1
CHUNKS = 400
EVENTS = 20000
PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"

if os.geteuid():
    skip("needs root, to be other users")


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def honest(m, number, user=GOOD):
    p, path = m.writer(number, EVENTS, rate=20000, user=user, enabled=True)
    p.communicate(timeout=60)
    check(p.returncode == 0, "the honest program", p.returncode)
    return path


def attack(m, when):
    p = subprocess.Popen([os.path.join(BUILD, "tests", "untrue_times"), "1", str(when), str(CHUNKS)], env=m.env, user=BAD, group=BAD, extra_groups=[],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(p)
    line = p.stdout.readline()
    check(line.startswith("wrote "), "the hostile program", line, p.poll())
    return p, int(line.split()[1])


def times_rise(path):
    """Checks that times rise in each buffer, by its bytes; returns the first and the last of all."""
    with open(path, "rb") as f:
        data = f.read()
    size, = struct.unpack_from("<I", data, 0)
    first, end = 1 << 64, 0
    for at in range(size, len(data), size):
        filled, = struct.unpack_from("<I", data, at + 0x30)
        place, last = at + 0x48, 0
        while place < at + filled:
            length, = struct.unpack_from("<H", data, place)
            when, = struct.unpack_from("<Q", data, place + 16)
            check(when >= last, "time goes back in a buffer at", place, when, last)
            last, first, end = when, min(first, when), max(end, when)
            place += (length + 7) & ~7
    return first, end


def one(m, name, when):
    m.tool("start", name, "-o", name + ".etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=64")
    begin = time.monotonic()
    p, wrote = attack(m, when)
    tallies = [honest(m, 0)]
    text = m.tool("query", name).stdout
    check(f"uid {BAD}: its programs wrote {wrote} events with times" in text or when == "-" and f"uid {BAD}: its programs wrote" in text, "who it was", text)
    p.stdin.close()
    check(p.wait(30) == 0, "the hostile program", p.returncode)
    tallies.append(honest(m, 1))
    info = json.loads(m.tool("stop", name, "--json").stdout)
    seconds = time.monotonic() - begin
    refused = sum(tally(t)[2] for t in tallies)
    path = os.path.join(m.logs, name + ".etl")
    got = m.verify(path, tallies, expect=None)
    print(name, "by hand", wrote, "written", info["events_written"], "lost", info["events_lost"], "refused", refused)
    check(wrote == CHUNKS * 256, "the hostile program found no chunks any more", wrote)
    check(refused == 0 and info["events_lost"] == 0 and info["corrupt"] == 0, "honest programs lost events", refused, info)
    check(got["missing"] == got["torn"] == got["doubled"] == got["inversions"] == 0, got)
    check(info["events_written"] == wrote + 2 * EVENTS, "all that was written is there", info["events_written"], wrote)
    first, last = times_rise(path)
    frequency = json.loads(m.tool("summary", path, "--json").stdout)
    check(last - first < (seconds + 5) * 10_000_000_000, "times of the file", first, last, seconds, str(frequency)[:200])


def taken_kb(m):
    """Memory of the daemon's streams."""
    kb, fds = 0, f"/proc/{m.daemon_pid()}/fd"
    for fd in os.listdir(fds):
        try:
            if "autologger-data" in os.readlink(os.path.join(fds, fd)):
                kb += os.stat(os.path.join(fds, fd)).st_blocks // 2
        except FileNotFoundError:  # closed meanwhile
            pass
    return kb


def takes_memory(m):
    """The program takes all mapped memory, granted or not: the memory is freed while the program runs, and when it has ended; the session names the user
    (F10)."""
    m.tool("start", "filled", "-o", "filled.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=512")
    before = taken_kb(m)
    p, size = attack(m, "fill")
    check(size > 100 << 20 and taken_kb(m) - before > 100 << 10, "there is little to take", size, taken_kb(m))
    text = m.tool("query", "filled").stdout
    print("mapped", size >> 10, "KB, streams have", taken_kb(m), "KB after a look")
    check(taken_kb(m) - before < 36 << 10, "memory that nobody may have stays taken", taken_kb(m))
    check(f"uid {BAD}: its programs took memory" in text, "who it was", text)
    p.stdin.close()
    check(p.wait(30) == 0, "the hostile program", p.returncode)
    end = time.monotonic() + 10
    while taken_kb(m) - before > 2 << 10 and time.monotonic() < end:
        time.sleep(0.1)
    check(taken_kb(m) - before <= 2 << 10, "the memory of a program that has ended", taken_kb(m))
    check(json.loads(m.tool("stop", "filled", "--json").stdout)["events_lost"] == 0, "lost")


def writes_counts(m, mode):
    """Impossible counts of its lost and overwritten events: the session counts only the other users', and names the user that it left out."""
    name = "counts-" + mode.lower()
    m.tool("start", name, *(["-o", name + ".etl"] if mode == "SEQUENTIAL" else []), "--set", f"LogFileMode={mode}", "--provider", PROVIDER, "--set", "BufferSize=64KB",
           "--set", "MinimumBuffers=64", "--set", "MaximumBuffers=64")
    p, _ = attack(m, "counts")
    refused = tally(honest(m, 0))[2]
    query = m.tool("query", name)
    live = json.loads(m.tool("query", name, "--json").stdout)
    live = live.get("session", live)
    users = {u["uid"]: u for u in live["users"]}
    check(users[BAD]["false_counts"] == 1 and users[GOOD]["false_counts"] == 0, "who it was", users)
    check(f"uid {BAD}: its programs wrote counts of lost events that cannot be true" in query.stdout, "who it was", query.stdout)
    p.stdin.close()
    check(p.wait(30) == 0, "the hostile program", p.returncode)
    info = json.loads(m.tool("stop", name, "--json").stdout)
    print(name, "lost", live["events_lost"], info["events_lost"], "overwritten", info["overwritten"], "refused", refused)
    check(live["events_lost"] == info["events_lost"] == refused == 0, "the counts of a hostile program", live["events_lost"], info["events_lost"])
    check(info["overwritten"] <= EVENTS, "overwritten", info["overwritten"])


def main():
    with Machine() as m:
        os.chmod(m.dir, 0o755)
        m.start()
        for name, when in (("future", FUTURE), ("soon", 1 << 62), ("past", 1), ("back", "-")):
            one(m, name, when)
        takes_memory(m)
        for mode in ("SEQUENTIAL", "BUFFERING"):
            writes_counts(m, mode)
        m.shutdown()


main()
