"""Channels of manifests: which are on, and their events in systemd's journal. A socket stands for the journal's; what arrives is decoded by a second
decoder of its protocol, and compared field by field with what a program wrote. The service takes over a channel that is switched on or off while it
runs, survives the journal's restart and the daemon's death, and writes what waits when it is stopped.
Proves: CON-16, CON-17, CON-18, CON-23, REG-27."""
import array
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness import BUILD, Machine, check

OPERATIONAL, DEBUG, ADMIN = "Contoso-Demo/Operational", "Contoso-Demo/Debug", "Contoso-Other/Admin"
DEMO = "{6f1c3b52-0d2e-4c55-9f6e-2b8f3f0a7d11}"
MANIFEST = f"""<provider name="Contoso-Demo-Classic" guid="{DEMO}" symbol="DEMO">
<channels><channel name="{OPERATIONAL}" chid="OP" type="Operational"/><channel name="{DEBUG}" chid="DBG" type="Debug"/></channels>
<templates><template tid="T"><data name="step" inType="win:UInt32"/><data name="value" inType="win:UInt64"/></template></templates>
<events>
 <event value="1" symbol="DemoStart" template="T" level="win:Informational" channel="OP" message="Step %1 begins.%nSecond line"/>
 <event value="2" symbol="DemoStep" template="T" level="win:Warning" channel="DBG"/>
 <event value="3" symbol="DemoStop" template="T" level="win:Informational"/>
</events></provider>
"""
OTHER = f"""<provider name="Contoso-Other" guid="{{11223344-5566-7788-99aa-bbccddeeff01}}" symbol="OTHER">
<channels><channel name="{ADMIN}" chid="AD" type="Admin" enabled="false"/></channels><events>
 <event value="1" symbol="Bad" level="win:Error" channel="AD" message="It is bad."/></events></provider>
"""
# Writes by the functions of evntprov.h; the keyword is that of the channel: bit 63 the first, bit 62 the second.
WRITER = """
#include <evntprov.h>
#include <stdlib.h>
static const GUID demo = {0x6f1c3b52, 0x0d2e, 0x4c55, {0x9f, 0x6e, 0x2b, 0x8f, 0x3f, 0x0a, 0x7d, 0x11}};
int main(int argc, char **argv)
{
    REGHANDLE h;
    int last = 0;
    if (EventRegister(&demo, 0, 0, &h))
        return 2;
    for (int i = 1; i < argc; i += 2) {
        ULONG id = (ULONG)atoi(argv[i]), step = (ULONG)atoi(argv[i + 1]);
        ULONGLONG value = 1000ULL + step;
        EVENT_DESCRIPTOR d = {(USHORT)id, 0, id == 1 ? 16 : id == 2 ? 17 : 0, id == 2 ? 3 : 4, 0, 0, id == 1 ? 0x8000000000000000ULL : id == 2 ? 0x4000000000000000ULL : 1};
        EVENT_DATA_DESCRIPTOR v[2];
        EventDataDescCreate(&v[0], &step, sizeof step);
        EventDataDescCreate(&v[1], &value, sizeof value);
        last = EventEnabled(h, &d) ? (int)EventWrite(h, &d, 2, v) : 1;
    }
    EventUnregister(h);
    return last;
}
"""


def decoded(data):
    """The fields of a message in the journal's native protocol."""
    fields, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        line = data[at:end]
        at = end + 1
        if b"=" in line:
            name, _, value = line.partition(b"=")
        else:
            name, size = line, int.from_bytes(data[at:at + 8], "little")
            value = data[at + 8:at + 8 + size]
            check(data[at + 8 + size:at + 9 + size] == b"\n", "no line feed behind a value", data)
            at += 9 + size
        check(name.isupper() and name[:1].isalpha() and len(name) <= 64, "a name that the journal refuses:", name)
        fields.append((name.decode(), value.decode()))
    check(len(fields) == len(dict(fields)), "a field twice:", fields)
    return dict(fields)


class Journal:
    """The journal's socket, and what came."""

    def __init__(self, path):
        self.path, self.messages, self.files = path, [], 0
        self.open()

    def open(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        threading.Thread(target=self.read, args=(self.socket,), daemon=True).start()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        os.unlink(self.path)

    def read(self, s):
        while True:
            try:
                data, control, *_ = s.recvmsg(1 << 20, socket.CMSG_SPACE(4))
            except OSError:
                return
            if not data and not control:
                return
            for level, kind, fds in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fd = array.array("i", fds)[0]
                    data = os.pread(fd, 1 << 24, 0)
                    os.close(fd)
                    self.files += 1
            self.messages.append(decoded(data))

    def wait(self, count, seconds=20):
        end = time.time() + seconds
        while len(self.messages) < count and time.time() < end:
            time.sleep(0.05)
        check(len(self.messages) == count, "messages:", len(self.messages), "wanted", count, self.messages)
        return self.messages[-1]


def listed(m, *words):
    return {c["name"]: c for c in json.loads(m.tool("channels", "list", "--store", m.store, "--json", *words).stdout)}


class Service:
    def __init__(self, m, journal):
        self.m, self.journal = m, journal
        self.log = pathlib.Path(m.dir, "service.log")
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.p = subprocess.Popen([os.path.join(BUILD, "autologger"), "channels", "run", "--store", self.m.store, "--socket", self.journal.path],
                                      env=self.m.env, stderr=log)
        self.m.processes.append(self.p)
        self.wait_text("channels are on")

    def wait_text(self, text, count=1):
        end = time.time() + 20
        while self.log.read_text().count(text) < count and time.time() < end:
            check(self.p.poll() is None, "the service ended:", self.log.read_text())
            time.sleep(0.05)
        check(self.log.read_text().count(text) >= count, text, count, self.log.read_text())

    def stop(self, expect=0):
        self.p.send_signal(signal.SIGTERM)
        check(self.p.wait(20) == expect, self.log.read_text())


def write(m, program, *pairs, expect=0):
    r = subprocess.run([program, *(str(p) for p in pairs)], env=m.env)
    check(r.returncode == expect, "the writer:", r.returncode, pairs)


def names(m):
    """What is on by default, and what a manifest or the store switches."""
    have = listed(m)
    got = {n: (c["type"], c["enabled"], c["enabled_by_default"], c["provider"]) for n, c in have.items()}
    check(got == {OPERATIONAL: ("Operational", True, True, "Contoso-Demo-Classic"), DEBUG: ("Debug", False, False, "Contoso-Demo-Classic"),
                  ADMIN: ("Admin", False, False, "Contoso-Other")}, got)
    text = m.tool("channels", "list", "--store", m.store).stdout
    check(OPERATIONAL in text and DEBUG not in text and "1 analytic and debug channel is not shown" in text, text)
    check(DEBUG in m.tool("channels", "list", "--all", "--store", m.store).stdout, "--all")
    m.tool("channels", "enable", ADMIN.upper(), "--store", m.store)
    check(listed(m, ADMIN)[ADMIN]["enabled"], "not on")
    r = m.tool("channels", "enable", "Contoso-Demo/Operationel", "--store", m.store, expect=1)
    check(f'Did you mean "{OPERATIONAL}"?' in r.stderr, r.stderr)
    # as wevtutil has it
    m.tool("windows", "wevtutil", "sl", ADMIN, "/e:false", f"--store={m.store}")
    check(not listed(m)[ADMIN]["enabled"], "still on")
    check(DEBUG in m.tool("windows", "wevtutil", "el", f"--store={m.store}").stdout, "el")


def a_message(m, journal, program):
    """Each field of the event, in the journal."""
    start = time.time()
    write(m, program, 1, 7, 3, 8, expect=1)  # the last one is of no channel
    got = journal.wait(1)
    wanted = {"MESSAGE": "Step 7 begins.\nSecond line", "PRIORITY": "6", "SYSLOG_IDENTIFIER": "Contoso-Demo-Classic", "AUTOLOGGER_CHANNEL": OPERATIONAL,
              "AUTOLOGGER_PROVIDER": "Contoso-Demo-Classic", "AUTOLOGGER_PROVIDER_GUID": DEMO, "AUTOLOGGER_EVENT": "DemoStart",
              "AUTOLOGGER_EVENT_ID": "1", "AUTOLOGGER_LEVEL": "4", "AUTOLOGGER_KEYWORD": "0x8000000000000000", "AUTOLOGGER_DATA_STEP": "7",
              "AUTOLOGGER_DATA_VALUE": "1007"}
    check({k: got.get(k) for k in wanted} == wanted, got)
    check(int(got["AUTOLOGGER_PID"]) > 1 and "OBJECT_PID" not in got and got["AUTOLOGGER_TIME"][:10] in (time.strftime("%Y-%m-%d", time.gmtime(t)) for t in (start, time.time())), got)


def switched(m, journal, service, program):
    """A debug channel is on from the command on, without a restart, and off again."""
    write(m, program, 2, 1, expect=1)  # of no session
    m.tool("channels", "enable", DEBUG, "--store", m.store)
    service.wait_text("2 of 3 channels are on")
    write(m, program, 2, 5)
    got = journal.wait(2)
    check((got["MESSAGE"], got["PRIORITY"]) == ("DemoStep step=5 value=1005", "4"), got)
    m.tool("channels", "disable", DEBUG, "--store", m.store)
    service.wait_text("1 of 3 channels are on", 2)
    write(m, program, 2, 6, expect=1)
    write(m, program, 1, 9)
    check(journal.wait(3)["AUTOLOGGER_DATA_STEP"] == "9", journal.messages)


def restarts(m, journal, service, program):
    """The journal away for a moment, the service killed, the daemon killed: no event is missing."""
    journal.close()
    write(m, program, 1, 20)
    time.sleep(1.5)
    journal.open()
    check(journal.wait(4)["AUTOLOGGER_DATA_STEP"] == "20", journal.messages)
    service.p.kill()
    service.p.wait()
    write(m, program, 1, 21)
    service.log.write_text("")
    service.start()
    check(journal.wait(5)["AUTOLOGGER_DATA_STEP"] == "21", journal.messages)
    children = f"/proc/{m.keeper.pid}/task/{m.keeper.pid}/children"
    os.kill(int(pathlib.Path(children).read_text().split()[0]), signal.SIGKILL)
    m.wait_ready()
    write(m, program, 1, 22)
    if service.p.poll() is not None:  # as systemd starts it again
        service.log.write_text("")
        service.start()
    end = time.time() + 20
    while not any(x["AUTOLOGGER_DATA_STEP"] == "22" for x in journal.messages) and time.time() < end:
        if service.p.poll() is not None:
            service.log.write_text("")
            service.start()
        time.sleep(0.1)
    steps = [int(x["AUTOLOGGER_DATA_STEP"]) for x in journal.messages]
    check(set(steps) == {7, 5, 9, 20, 21, 22}, steps)


def the_end(m, journal, service, program):
    """What waits when the service is stopped is written, and the session is gone."""
    before = len(journal.messages)
    for step in range(100, 150):
        write(m, program, 1, step)
    service.stop()
    steps = [int(x["AUTOLOGGER_DATA_STEP"]) for x in journal.messages[before:]]
    check(steps == list(range(100, 150)), steps, service.log.read_text())
    check("EventLog-Channels" not in m.tool("sessions").stdout, "the session is still there")
    write(m, program, 1, 1, expect=1)


with Machine() as machine:
    machine.start()
    folder = pathlib.Path(machine.dir)
    for name, text in (("demo.man", MANIFEST), ("other.man", OTHER)):
        (folder / name).write_text(text, encoding="utf-8")
        machine.tool("manifest", "install", str(folder / name), "--store", machine.store)
    (folder / "writer.c").write_text(WRITER, encoding="utf-8")
    writer = str(folder / "writer")
    source = os.environ["AL_SOURCE_DIR"]
    built = subprocess.run([shutil.which("cc") or "gcc", "-I", f"{source}/autologger/include", str(folder / "writer.c"), "-o", writer, "-L", BUILD, "-lautologger",
                            f"-Wl,-rpath,{BUILD}"], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    names(machine)
    log = Journal(str(folder / "journal.socket"))
    run = Service(machine, log)
    a_message(machine, log, writer)
    switched(machine, log, run, writer)
    restarts(machine, log, run, writer)
    the_end(machine, log, run, writer)
    machine.tool("channels", "run", "--store", machine.store, "--socket", "/nowhere/socket", expect=1)
    print(len(log.messages), "messages,", log.files, "of them as files")
