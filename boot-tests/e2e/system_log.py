"""The machine's own daemon writes the result of every row to the journal, once, when the last session has stopped; a rehearsal and a daemon of a
user's own write nothing to it.
Proves: REG-09, REG-11, REG-21, LGT-13 (who looks after the machine is told that nobody read)."""
import json
import os
import socket
import subprocess
import sys
import time

from harness import Machine, check, skip, tool

if os.getuid() != 0:
    skip("a /run of its own needs root")
if os.environ.get("AL_OWN_MOUNTS") != "1":  # mounts end with this process
    env = dict(os.environ, AL_OWN_MOUNTS="1")
    sys.exit(subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, __file__], env=env).returncode)
subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)

DECLARED = """[Autologger/web]
[Autologger/web/Contoso-Web]
[Autologger/wrong]
LogFileMode = NEWFILE
"""

os.makedirs("/run/systemd/journal")
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind("/run/systemd/journal/socket")
journal.setblocking(False)


def entries():
    """The journal's new entries, as dictionaries; a value with several lines is in the binary form of the protocol."""
    found = []
    while True:
        try:
            data = journal.recv(65536)
        except BlockingIOError:
            return found
        entry = {}
        while data:
            end = min(at for at in (data.find(b"\n"), data.find(b"=")) if at >= 0)
            name = data[:end].decode()
            if data[end : end + 1] == b"=":
                value, _, data = data[end + 1 :].partition(b"\n")
            else:
                length = int.from_bytes(data[end + 1 : end + 9], "little")
                value, data = data[end + 9 : end + 9 + length], data[end + 10 + length :]
            entry[name] = value.decode()
        found.append(entry)


with Machine(DECLARED) as m:
    m.start()  # a runtime folder of its own
    m.shutdown()
    check(entries() == [], "only the machine's daemon may write to the journal")

with Machine(DECLARED) as m:
    m.runtime = "/run/autologger"
    m.env["AUTOLOGGER_RUNTIME_DIR"] = m.runtime
    m.start()
    check(entries() == [], "the rows are not final yet")
    m.tool("write", "Contoso-Web", "Started", "port=80")
    os.kill(m.daemon_pid(), 9)  # its successor knows which rows are in the journal
    m.wait_ready()
    shown = tool("status", "--store", m.store, expect=1).stdout
    check("running" in shown and "it runs" in shown, shown)
    m.tool("stop", "web")
    told = entries()
    shown = tool("status", "--store", m.store, expect=1).stdout
    check("running" not in shown, shown)
    m.shutdown()
    check(entries() == [], "told once")
    check(len({e["MESSAGE_ID"] for e in told}) == 1 and len(told) == 4, told)
    rows = {(e.get("AUTOLOGGER_SESSION"), e.get("AUTOLOGGER_PROVIDER")): e for e in told}
    web, provider, wrong, total = (rows[k] for k in (("web", None), ("web", "Contoso-Web"), ("wrong", None), (None, None)))
    check(web["PRIORITY"] == "6" and web["AUTOLOGGER_EVENTS"] == "1" and web["AUTOLOGGER_RESULT"] == "ok", web)
    check(provider["AUTOLOGGER_EVENTS"] == "1" and provider["AUTOLOGGER_STATUS"] == "0", provider)
    check(wrong["PRIORITY"] == "3" and wrong["AUTOLOGGER_STATUS"] == "87" and "Do:" in wrong["MESSAGE"], wrong)
    check(wrong["AUTOLOGGER_LINE"] == "4" and wrong["AUTOLOGGER_FILE"].endswith("declared.ini"), wrong)
    check("1 failed" in total["MESSAGE"], total)
    shown = tool("status", "--check", "--store", m.store, expect=1).stdout
    check("wrong" in shown and "Contoso-Web" not in shown, shown)
print("\n".join(e["MESSAGE"] for e in told))

# a real-time session without a reader: its backup is full, and the journal says so
with Machine("""[Autologger/small]
LogFileMode = REAL_TIME
BufferSize = 16 KB
MinimumBuffers = 64
MaximumBuffers = 64
MaxFileSize = 1
[Autologger/small/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
""") as m:
    m.runtime = "/run/autologger"
    m.env["AUTOLOGGER_RUNTIME_DIR"] = m.runtime
    m.start()
    p, _ = m.writer(0, 40000, rate=30000, enabled=True)
    check(p.wait(60) == 0, "the writer ended with", p.returncode)
    lost = json.loads(m.tool("stop", "small", "--json").stdout)["events_lost"]
    (row,) = [e for e in entries() if e.get("AUTOLOGGER_SESSION") == "small" and not e.get("AUTOLOGGER_PROVIDER")]
    check(lost > 0 and row["AUTOLOGGER_LOST"] == str(lost), "lost", lost, row)
    check("1502 RealTime: real-time buffers were dropped" in row["MESSAGE"] and "is full: no consumer has read it" in row["MESSAGE"], row["MESSAGE"])
    check(row["PRIORITY"] == "3" and row["AUTOLOGGER_RESULT"] == "failed", "most of it was lost: an error", row)
    print(row["MESSAGE"])
    m.shutdown()

# the machine's boot: the rows go to the journal when its files are merged, and name the merged file; once
with Machine("[Autologger/web]\nFileName = web_um_premerge.etl\n[Autologger/web/Contoso-Web]\n") as m:
    m.runtime = "/run/autologger"
    m.env["AUTOLOGGER_RUNTIME_DIR"] = m.runtime
    for merged_later in (False, True):
        m.start("--boot", "--boot-id", f"boot-{merged_later}", "--guard", os.path.join(m.dir, "guard"), "--systemd-dir", "/nonexistent")
        m.tool("write", "Contoso-Web", "Started", "port=80")
        check(entries() == [], "the rows are not final yet")
        if merged_later:  # stopped by hand, which merges nothing
            m.tool("stop", "web")
            told, end = entries(), time.time() + 20
            while len(told) < 3 and time.time() < end:
                time.sleep(0.05)
                told += entries()
            check(len(told) == 3 and told[0]["AUTOLOGGER_TRACE"].endswith("web_um_premerge.etl"), told)
        m.tool("stop", "--merge")
        told = entries()
        check(len(told) == 3, told)
        check(told[0]["AUTOLOGGER_TRACE"] == os.path.join(m.logs, "web.etl"), told[0])
        check("file " + os.path.join(m.logs, "web.etl") in told[0]["MESSAGE"], told[0])
        m.shutdown()
        check(entries() == [], "told once")
        os.unlink("/run/autologger/booted")

# a machine that goes down in the middle: the next boot reports it. (Its boot id is another one.)
with Machine(DECLARED) as m:
    m.start()
    m.tool("write", "Contoso-Web", "Started", "port=80")
    m.tool("flush", "web")
    daemon = m.daemon_pid()
    m.keeper.kill()  # first: it would start a successor
    m.keeper.wait(20)
    try:
        os.kill(daemon, 9)
    except ProcessLookupError:
        pass  # it ended with its keeper
    root = os.path.join(m.dir, "root")
    for path, text in (("proc/sys/kernel/random/boot_id", "another-boot\n"), ("proc/cmdline", "quiet\n")):
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w") as f:
            f.write(text)
    shown = tool("status", "--root", root, "--store", m.store, expect=1).stdout
    check("cut off" in shown and "it was never stopped" in shown and "Not of this boot" in shown, shown)
    trace = json.loads(tool("status", "--store", m.store, "--json", expect=None).stdout)["sessions"][0]["log_path"]
    check("Contoso-Web/Started" in tool("dump", trace, expect=None).stdout, "what had reached the disk")
