"""Sessions, row by row: running programs and changing sessions, modes as StartTrace takes them, sizes and buffers, clocks, events that are too large,
which threads write to the disk, the number of sessions, and the experiment of a first trace.
Proves: COR-01, COR-03, COR-04, COR-05, COR-08, COR-10, COR-11, COR-13, COR-16, COR-24, REG-25, SES-07, SES-08, SES-09, SES-10, SES-11, SES-12,
SES-13, SES-14, SES-15, SES-17, SES-22, SES-24, SPC-10, SPC-11, SEC-12; the number of sessions."""
import datetime
import json
import os
import signal
import struct
import subprocess
import time

if os.path.isdir("/dev/shm"):  # each file that begins is synced: some hundred here
    os.environ["TMPDIR"] = "/dev/shm"
from harness import BUILD, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
ETL_HEADER, EVENT_HEADER, BUFFER = 72, 80, 65536


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def query(m, name):
    return json.loads(m.tool("query", name, "--json").stdout)


def stop(m, name):
    return json.loads(m.tool("stop", name, "--json").stdout)


def dump(m, path):
    return [json.loads(line) for line in m.tool("dump", path, "--json").stdout.splitlines()]


def numbered(events):
    """The numbers of a writer's events, in the order of the file."""
    return [struct.unpack_from("<IIQ", bytes.fromhex(e["payload"]))[2] for e in events if e["id"] == 77]


def separate_things(m):
    """COR-01: a session without a provider and a provider without a session, each in its own list; a consumer of a session without events."""
    m.tool("start", "bare", "--set", "LogFileMode=REAL_TIME")
    p, _ = m.writer(5, 1, provider=9, wait_ms=1500)
    guid = "{5ca1ab1e-7e57-0009-8000-000000000009}"
    end = time.time() + 1.4
    while True:
        registered = [r for r in json.loads(m.tool("providers", "--registered", "--json").stdout)["registered"] if r["guid"] == guid]
        if registered or time.time() > end:
            break
    check(len(registered) == 1 and registered[0]["programs"] == [p.pid] and registered[0]["sessions"] == [], "a provider without a session", registered)
    sessions = json.loads(m.tool("sessions", "--json").stdout)["sessions"]
    check([(s["name"], s["provider_count"]) for s in sessions] == [("bare", 0)], "a session without a provider", sessions)
    listens = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", "bare", "--json"], env=m.env, stdout=subprocess.PIPE, text=True)
    m.processes.append(listens)
    check(p.wait(20) == 0, "the provider goes on")
    time.sleep(0.5)
    check(listens.poll() is None, "the consumer waits")
    info = stop(m, "bare")
    text, _ = listens.communicate(timeout=20)
    check(listens.returncode == 0 and numbered([json.loads(line) for line in text.splitlines() if '"payload"' in line]) == [], text)
    check(info["events_written"] == info["events_lost"] == 0, info)


def guid_of(number):
    return f"{{5ca1ab1e-7e57-{number:04x}-8000-{number:012x}}}"


def written_by(m, path, number):
    """(seconds since 1970, number, process) of each event of the provider."""
    found = [e for e in dump(m, path) if e["provider"].get("guid") == guid_of(number) and e["id"] == 77]
    return [(datetime.datetime.fromisoformat(e["time"][:26].rstrip("Z") + "+00:00").timestamp(), n, e["pid"]) for e, n in zip(found, numbered(found))]


def while_programs_run(m):
    """COR-03: three programs write all the time; a session takes the events of two, then no more of one of these, then those of the third; none is
    restarted. COR-24: the session ends, another one takes the same program's events, and outlives it."""
    m.tool("start", "turns", "-o", "turns.etl", "--set", "BufferSize=64KB", "--set", "MinimumBuffers=64")
    p = {n: m.writer(60 + n, 6000, rate=1000, provider=n)[0] for n in (11, 12, 13)}
    time.sleep(0.5)
    at = {}

    def change(verb, number):
        m.tool(verb, "turns", guid_of(number), *(("--wait", "5000") if verb == "enable" else ()))
        at[verb, number] = time.time()

    for verb, number in (("enable", 11), ("enable", 12), ("disable", 11), ("enable", 13)):
        change(verb, number)
        time.sleep(0.7)
    m.tool("flush", "turns")
    registered = {r["guid"]: r for r in json.loads(m.tool("providers", "--registered", "--json").stdout)["registered"]}
    check(all(registered[guid_of(n)]["programs"] == [p[n].pid] for n in p), "who is registered", registered)
    stop(m, "turns")
    m.tool("start", "later", "-o", "later.etl", "--provider", guid_of(12), "--set", "BufferSize=64KB", "--set", "MinimumBuffers=64")
    began = time.time()
    check(all(x.wait(30) == 0 for x in p.values()), "the programs")
    check("later" in [s["name"] for s in json.loads(m.tool("sessions", "--json").stdout)["sessions"]], "a session goes on without its program")
    stop(m, "later")
    got = {n: written_by(m, os.path.join(m.logs, "turns.etl"), n) for n in p}
    for n, events in got.items():
        check(events and {e[2] for e in events} == {p[n].pid}, n, "is not of the same process", events[:1])
        check(events[0][0] - at["enable", n] < 1, n, "begins within a second", events[0], at)
        check([e[1] for e in events] == list(range(events[0][1], events[-1][1] + 1)), n, "nothing is missing between")
    off, third = at["disable", 11], at["enable", 13]
    check(got[11][-1][0] <= off + 0.1 and got[13][0][0] > off, "one no more, another instead", got[11][-1], got[13][0], at)
    check(got[12][0][0] < off and got[12][-1][0] > third, "the third is not touched", got[12][0], got[12][-1], at)
    again = written_by(m, os.path.join(m.logs, "later.etl"), 12)
    same = again and {e[2] for e in again} == {p[12].pid} and again[0][0] - began < 1 and again[-1][1] == 5999
    check(same, "another session, the same registration", again[:1], began)
    print("turns:", {n: len(events) for n, events in got.items()}, "later:", len(again))


def so_many_sessions(m):
    """COR-10: the same program, whether no session, one or eight want its events."""
    for count in (0, 1, 8):
        names = [f"of-{count}-{i}" for i in range(count)]
        for name in names:
            m.tool("start", name, "-o", name + ".etl", "--provider", guid_of(14), "--set", "BufferSize=64KB", "--set", "MinimumBuffers=16")
        p, t = m.writer(80 + count, 300, provider=14, enabled=count > 0)
        check(p.wait(30) == 0 and tally(t) == (300, 300, 0), count, "sessions: the program", p.returncode, tally(t))
        for name in names:
            info = stop(m, name)
            check(info["events_written"] == 300 and info["events_lost"] == 0, count, "sessions:", info)
            check(numbered(dump(m, os.path.join(m.logs, name + ".etl"))) == list(range(300)), name)


def enabled_before(m):
    """REG-25: a session enables a provider before any program registers it; the first event of a later program is in the file. EventRegister waits
    250 ms for that, which a busy machine may exceed: one program of three is quick enough."""
    m.tool("start", "before", "-o", "before.etl", "--provider", guid_of(15), "--set", "BufferSize=64KB", "--set", "MinimumBuffers=16")
    time.sleep(1)
    for n in range(3):
        p, t = m.writer(90 + n, 20, provider=15)
        check(p.wait(30) == 0 and tally(t) == (20, 20, 0), "the program", tally(t))
    info = stop(m, "before")
    got = numbered(dump(m, os.path.join(m.logs, "before.etl")))
    check(info["events_lost"] == 0 and any(got[i:i + 20] == list(range(20)) for i in range(len(got))), "from the first event on", got, info)


def pinned(m):
    """COR-04: programs that write at the same time, each on one processor: each buffer names its processor, and has only its events."""
    cpus = sorted(os.sched_getaffinity(0))[:4]
    m.tool("start", "pinned", "-o", "pinned.etl", "--provider", guid_of(16), "--set", "BufferSize=16KB", "--set", "MinimumBuffers=128")
    programs = [m.writer(100 + i, 3000, rate=20000, provider=16, wait_ms=800)[0] for i in range(len(cpus))]
    for p, cpu in zip(programs, cpus):
        os.sched_setaffinity(p.pid, {cpu})
    check(all(p.wait(30) == 0 for p in programs), "the programs")
    info = stop(m, "pinned")
    path = os.path.join(m.logs, "pinned.etl")
    buffers, events = {cpu: 0 for cpu in cpus}, 0
    with open(path, "rb") as f:
        data = f.read()
    for at in range(16384, len(data), 16384):
        filled, = struct.unpack_from("<I", data, at + 48)
        processor, = struct.unpack_from("<H", data, at + 40)
        place, writers = at + ETL_HEADER, set()
        while place < at + filled:
            length, = struct.unpack_from("<H", data, place)
            _, writer, _ = struct.unpack_from("<IIQ", data, place + EVENT_HEADER)
            writers.add(writer - 100)
            events += 1
            place += (length + 7) & ~7
        check([cpus[w] for w in writers] == [processor], "a buffer of processor", processor, "has the events of", writers)
        buffers[processor] += 1
    print("pinned:", buffers, "buffers,", events, "events")
    check(events == info["events_written"] == 3000 * len(cpus) and min(buffers.values()) > 10, events, info["events_written"], buffers)


def by_programs(m):
    """COR-08, COR-11: provider, controller and consumer in one process; the table of modes; all places taken at once. SES-11, SES-12: an event larger
    than the buffer fails with ERROR_MORE_DATA and is counted, from 64 KB on with ERROR_ARITHMETIC_OVERFLOW."""
    r = subprocess.run([os.path.join(BUILD, "tests", "trace_modes")], env=m.env, capture_output=True, text=True, timeout=120)
    print(r.stdout.strip(), r.stderr.strip())
    check(r.returncode == 0, "trace_modes")


def who_has_the_places():
    """EtwMaxLoggers, also over the daemon's death; the error names the sessions that have the places."""
    with Machine("[HKLM/SYSTEM/CurrentControlSet/Control/WMI]\nEtwMaxLoggers = 32\n") as m:
        m.start()
        for i in range(32):
            if i == 16:
                os.kill(m.daemon_pid(), signal.SIGKILL)
                m.wait_ready()
            m.tool("start", f"busy-{i}", "--set", "LogFileMode=REAL_TIME", "--set", "MaximumBuffers=2", "--set", "BufferSize=4KB")
        r = m.tool("start", "more", "-o", "more.etl", expect=None)
        check(r.returncode and "all 32 places" in r.stderr and "busy-0, busy-1" in r.stderr and "EtwMaxLoggers" in r.stderr and "1450" in r.stderr, r.stderr)
        m.tool("stop", "busy-7")
        m.tool("start", "more", "-o", "more.etl")
        m.shutdown()


def buffers(m):
    """SES-08: requested and given buffers; SES-09: too few buffers lose events of a burst, enough buffers lose none."""
    cpus = os.sysconf("SC_NPROCESSORS_CONF")
    m.tool("start", "small", "-o", "small.etl", "--provider", PROVIDER, "--set", "BufferSize=4KB", "--set", "MinimumBuffers=64", "--set",
           "MaximumBuffers=2")
    q = query(m, "small")
    check(q["maximum_buffers"] == q["minimum_buffers"] == max(64, 2 * cpus), "Maximum is never below Minimum", q)
    check(q["number_of_buffers"] == q["free_buffers"] == q["minimum_buffers"], "Minimum is there from the start, and no more", q)
    stop(m, "small")
    lost = {}
    for name, least, most in (("few", 2 * cpus, 2 * cpus), ("right", 1024, 1024)):
        m.tool("start", name, "-o", f"{name}.etl", "--provider", PROVIDER, "--set", "BufferSize=16KB", "--set", f"MinimumBuffers={least}", "--set",
               f"MaximumBuffers={most}")
        begin = time.time()
        p, t = m.writer(0 if name == "few" else 1, 20000, wait_ms=500)
        pid = m.daemon_pid()
        time.sleep(0.3)  # until it has registered
        os.kill(pid, signal.SIGSTOP)  # no thread writes to the file: the present buffers must suffice
        time.sleep(0.7)
        os.kill(pid, signal.SIGCONT)
        check(p.wait(60) == 0, "writer")
        info = stop(m, name)
        attempted, _, refused = tally(t)
        lost[name] = info["events_lost"]
        check(info["events_written"] + lost[name] == attempted == 20000 and lost[name] == refused, name, info, tally(t))
        print(name, "buffers:", info["events_written"], "written", lost[name], "lost", f"{time.time() - begin:.1f} s")
    check(lost["right"] == 0 < lost["few"], "the right minimum loses nothing, too few lose some:", lost)


def never_blocks(m):
    """COR-05: the writing thread is stopped, and with it all of the daemon: programs go on logging at once, with a loss or without. None of 200,000
    calls blocks."""
    m.tool("start", "slow", "-o", "slow.etl", "--provider", PROVIDER, "--set", "BufferSize=16KB", "--set", "MaximumBuffers=16", "--set", "MinimumBuffers=8")
    m.env["EVENT_WRITER_WATCH"] = "1"
    p, t = m.writer(2, 200000, wait_ms=700)
    del m.env["EVENT_WRITER_WATCH"]
    time.sleep(0.5)  # until it has registered
    pid = m.daemon_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        check(p.wait(60) == 0, "a writer waited for a thread that is stopped")
        said = p.stdout.read()
        check(" blocked 0\n" in said, "a call waited", said)
    finally:
        os.kill(pid, signal.SIGCONT)
    info = stop(m, "slow")
    attempted, written, refused = tally(t)
    check(attempted == 200000 and info["events_written"] + info["events_lost"] == attempted and info["events_lost"] == refused > 0, info, tally(t))
    print("stopped daemon:", attempted, "attempted,", refused, "refused, none waited")


def file_of_buffers(m):
    """SES-10: BufferSize as given, buffers numbered in the order in which they were filled. COR-13: their number fits the events' bytes, but for the
    last one of each processor at each flush, which may be partly filled."""
    m.tool("start", "order", "-o", "order.etl", "--provider", PROVIDER, "--set", "BufferSize=0x40", "--set", "MaximumBuffers=256")
    p, t = m.writer(3, 30000, rate=60000, enabled=True)
    p.wait(60)
    attempted, _, refused = tally(t)  # on a busy machine the logger thread may be late when the first buffers are full, before more are allocated
    check(attempted == 30000 and refused < 15000, "most has room", attempted, refused)
    end, flushes = time.time() + 20, 1  # the stop is a flush, too
    while True:
        m.tool("flush", "order")
        flushes += 1
        q = query(m, "order")  # free buffers are counted at each look of the thread
        if q["events_written"] + refused == 30000 and q["number_of_buffers"] - q["free_buffers"] <= 1:
            break
        check(time.time() < end, "dirty buffers are written, then free", q)
    info = stop(m, "order")
    check(info["events_lost"] == refused, "lost is what the program was told", refused, info)
    path = os.path.join(m.logs, "order.etl")
    size = os.path.getsize(path)
    check(info["buffer_kb"] == 64, info)
    check(size % BUFFER == 0 and size // BUFFER == info["buffers_written"], "a file is its buffers:", size, info["buffers_written"])
    largest, events = 8 + EVENT_HEADER + 24 + 180, 0  # a writer's largest event, in units of 8 bytes; bytes of all events
    with open(path, "rb") as f:
        numbers, partly = [], 0
        for i in range(size // BUFFER):
            f.seek(i * BUFFER)
            head = f.read(ETL_HEADER)
            check(struct.unpack_from("<I", head, 0)[0] == BUFFER, "BufferSize in a buffer's header")
            numbers.append(struct.unpack_from("<Q", head, 24)[0])
            filled = struct.unpack_from("<I", head, 48)[0]
            events += filled - ETL_HEADER if i else 0
            partly += i and filled + largest < BUFFER
    check(numbers == sorted(numbers) and len(set(numbers)) == len(numbers), "buffers are written first in, first out", numbers[:8])
    least = -(-events // (BUFFER - ETL_HEADER))
    most = least * (BUFFER - ETL_HEADER) // (BUFFER - ETL_HEADER - largest) + 1 + flushes * os.sysconf("SC_NPROCESSORS_CONF")
    print("order:", events, "bytes of events in", len(numbers) - 1, "buffers,", least, "to", most, "expected;", partly, "partly filled in", flushes, "flushes")
    check(events > 20 * BUFFER and least <= len(numbers) - 1 <= most, "BuffersWritten is what the bytes fill", least, len(numbers) - 1, most)
    check(partly <= flushes * os.sysconf("SC_NPROCESSORS_CONF"), "a buffer goes when it is full, or at a flush", partly, flushes)


def no_file_no_writes(m):
    """COR-16: a ring keeps the newest events, overwritten ones are not lost, and the disk is not written to. It has a thread
    (docs/DIFFERENCES.md)."""
    m.tool("start", "ring", "--provider", PROVIDER, "--set", "LogFileMode=BUFFERING", "--set", "BufferSize=64KB", "--set", "MinimumBuffers=16")
    p, t = m.writer(4, 60000, rate=60000, enabled=True)
    p.wait(60)
    check(query(m, "ring")["log_path"] == "", "no file")
    info = stop(m, "ring")
    attempted, _, refused = tally(t)
    check(info["events_written"] + info["events_lost"] == attempted == 60000 and info["events_lost"] == refused, info, refused)
    check(info["overwritten"] == info["events_written"] > 0, "what is overwritten is not lost", info)
    check(not any("ring" in f for f in os.listdir(m.logs)), "a file was made")


CLOCKS = (("c0", (), 1), ("c1", ("--set", "ClockType=QPC"), 1), ("c2", ("--set", "ClockType=SystemTime"), 2), ("c3", ("--set", "ClockType=CPUCycle"), 3))
BETWEEN = 1.0  # s, between two events of each clock
with open("/sys/devices/system/clocksource/clocksource0/current_clocksource", encoding="ascii") as f:
    CYCLES = f.read().strip() == "tsc"  # else the performance counter takes its place


def clocks(m):
    """SES-13, SES-14, SES-15, SES-17: the file's header names the clock, no ClockType means the performance counter, and the time stamps are that
    clock's: FILETIME, or counts that rise by its frequency."""
    began = {}
    for name, args, _ in CLOCKS:
        m.tool("start", name, "-o", f"{name}.etl", "--provider", PROVIDER, *args)
    for second in range(2):
        began[second] = time.time()
        p, _ = m.writer(10 + second, 1, enabled=True)
        check(p.wait(20) == 0, "writer")
        began[second] = began[second], time.time()
        time.sleep(BETWEEN)
    for name, _, clock in CLOCKS:
        stop(m, name)
        clock = clock if CYCLES or clock != 3 else 1
        path = os.path.join(m.logs, f"{name}.etl")
        with open(path, "rb") as f:
            head = f.read(BUFFER)[ETL_HEADER + 32:]  # TRACE_LOGFILE_HEADER, behind the header of its event
        processors, = struct.unpack_from("<I", head, 12)
        mhz, = struct.unpack_from("<I", head, 52)
        frequency, = struct.unpack_from("<Q", head, 256)
        check(struct.unpack_from("<I", head, 272)[0] == clock and processors == os.sysconf("SC_NPROCESSORS_CONF"), name, "ReservedFlags")
        times = [e["raw"] for e in dump(m, path) if e["id"] == 77]
        check(len(times) == 2 and times[0] < times[1], name, times)
        if clock == 2:
            for second, at in enumerate(times):
                first, last = ((t + 11644473600) * 1e7 for t in began[second])
                check(first - 1e5 <= at <= last + 1e5, "a time stamp is a FILETIME of its moment", first, at, last)
            continue
        check(frequency >= 10000000, "100 ns or better", name, frequency)
        rate = mhz * 1e6 if clock == 3 else frequency
        least, most = began[1][0] - began[0][1], began[1][1] - began[0][0]
        took = (times[1] - times[0]) / rate
        print(name, "two events", took, "s apart at", rate, "a second; between", least, "and", most)
        check(least * 0.99 <= took <= most * 1.01, name, "time stamps rise with the clock", least, took, most)


def two_ways(m):
    """SES-07: a session's file and its consumer get the same events. SES-22: the id of its thread. SES-24: names with blanks, signs and letters."""
    name, file = "Web + Co. Zürich", "a + b, Zürich.etl"
    m.tool("start", name, "-o", file, "--provider", PROVIDER, "--set", "LogFileMode=REAL_TIME", "--set", "MinimumBuffers=64", "--set", "MaximumBuffers=256")
    q = query(m, name)
    with open(f"/proc/{m.daemon_pid()}/task/{q['logger_thread_id']}/comm", encoding="utf-8", errors="ignore") as f:
        check(q["name"] == name and q["name"].startswith(f.read().strip()), "LoggerThreadId is the thread of that name", q)
    path, shown = os.path.join(m.logs, file), os.path.join(m.dir, "shown")
    with open(shown, "w") as out:
        watch = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", name, "--json"], env=m.env, stdout=out)
    m.processes.append(watch)
    p, t = m.writer(12, 4000, rate=20000, enabled=True)
    check(p.wait(60) == 0, "writer")
    info = stop(m, name)
    check(watch.wait(30) == 0, "watch")
    with open(shown) as f:
        live = numbered([json.loads(line) for line in f if '"payload"' in line])
    filed = numbered(dump(m, path))
    attempted, written, refused = tally(t)
    check(sorted(live) == sorted(filed) and len(filed) == len(set(filed)) == written == info["events_written"], "the same events", len(live), len(filed), written)
    check(attempted == 4000 and info["events_lost"] == refused and info["realtime_buffers_lost"] == info["log_buffers_lost"] == 0, info)
    head = json.loads(m.tool("summary", path, "--json").stdout)["header"]
    check(head["logger"] == name and os.path.basename(head["file"]) == file, "its names in the file", head)


def first_trace(m):
    """SPC-10, SPC-11: start, run programs, each with a provider of its own, stop, decode."""
    m.tool("start", "paint", "-o", "paint.etl", "--provider", "Contoso-Paint", "--provider", "Contoso-Brush")
    m.tool("write", "Contoso-Paint", "Open", "file=picture.png")
    m.tool("write", "Contoso-Brush", "Stroke", "length=12")
    m.tool("write", "Contoso-Paint", "Save")
    stop(m, "paint")
    text = m.tool("dump", os.path.join(m.logs, "paint.etl")).stdout
    order = [text.find(w) for w in ("Contoso-Paint/Open", "Contoso-Brush/Stroke", "Contoso-Paint/Save")]
    check(order == sorted(order) and order[0] > 0, text)


who_has_the_places()
with Machine() as m:
    m.start()
    for part in (separate_things, while_programs_run, so_many_sessions, enabled_before, pinned, by_programs, buffers, never_blocks, file_of_buffers,
                 no_file_no_writes, clocks, two_ways, first_trace):
        begin = time.time()
        part(m)
        print(f"{part.__name__}: {time.time() - begin:.1f} s")
    m.shutdown()
