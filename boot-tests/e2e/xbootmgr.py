"""A configuration as XBootMgr leaves it on Windows, a .reg: imported, rehearsed, both sessions Status 0, the file at its name's place, the eight
keywords of that name are exactly the flags decoded. Of its two providers one is that of services, which systemd has or a condition explains, the
other is a note with a reason.
Proves: LEG-12, REG-01, REG-03, REG-06, REG-07, REG-11, REG-15, KRN-11, KRN-12, CTL-17, MRG-02, MRG-12."""
import json
import os
import time

from harness import SOURCE, Machine, check, skip, tool

FILE = os.path.join(SOURCE, "tools", "tests", "made", "boot.reg")
if os.getuid() != 0:
    skip("kernel events need root")

with Machine() as m:
    tool("import", "--store", m.store, FILE)
    out = os.path.join(m.dir, "out")
    begun = time.time()
    rehearsal = json.loads(tool("rehearse", "--store", m.store, "--out", out, "--json", expect=None).stdout)
    check(time.time() - begun < 50, "the rehearsal took", time.time() - begun, "s")
    status = json.loads(tool("status", "--store", m.store, "--json", expect=None).stdout)
    sessions = {s["name"]: s for s in status["sessions"]}
    check(set(sessions) == {"NT Kernel Logger", "BootTrace"}, "sessions:", list(sessions))
    for s in sessions.values():
        check(s["status"] == 0 and s["file"] == FILE and s["line"] > 0, s)
    kernel = sessions["NT Kernel Logger"]
    check(kernel["asked"] == {"buffer_kb": 1024, "minimum_buffers": 300, "maximum_buffers": 600}, kernel["asked"])
    providers = {p["name"]: p for p in sessions["BootTrace"]["providers"]}
    check(set(providers) == {"Service Control Manager", "ReadyBoost"}, "providers:", list(providers))
    if not os.path.exists("/run/systemd/system"):  # then there are no services, and a condition says so
        check([(c["number"], c["item"]) for c in providers["Service Control Manager"]["conditions"]] == [(50, "units")], providers)
    else:
        check(providers["Service Control Manager"]["written"] > 0, "units:", providers)
        del providers["Service Control Manager"]
    for p in providers.values():
        check(p["status"] == 0 and p["result"] == ("in part" if p["name"] == "ReadyBoost" else "note") and p["conditions"][0]["reason"], p)
    name = "boot_PROC_THREAD+LOADER+DISK_IO+DISK_IO_INIT+DPC+CSWITCH+DISPATCHER+PROFILE_1.etl"
    merged = os.path.join(out, "c", "traces", name)
    check(rehearsal["merged"] == merged and os.path.exists(merged), "the merged file:", rehearsal["merged"])
    check(os.listdir(os.path.dirname(merged)) == [name], "parts were left behind:", os.listdir(os.path.dirname(merged)))
    rows = json.loads(tool("check", "--store", m.store, "--json", expect=None).stdout)["rows"]
    decoded = [r for r in rows if r["name"] == "NT Kernel Logger"][0]
    check(set(decoded["kernel_events"].split("+")) == set(name[5:-6].split("+")), "flags:", decoded["kernel_events"])
    check(set(decoded["stacks"].split("+")) == {"Profile", "CSwitch", "ReadyThread"}, "stacks:", decoded["stacks"])
    # a stop changes nothing in Windows' declaration, and export returns it
    exported = tool("export", "--store", m.store).stdout
    check("2e,0f,00,00,24,05,00,00,32,05,00,00" in exported and '"BufferSize"=dword:00000400' in exported, exported)
print("rehearsed in", round(time.time() - begun, 1), "s;", rehearsal["balance"])
