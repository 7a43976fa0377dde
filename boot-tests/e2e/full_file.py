"""D-76, D-27: a kernel session whose log file is full. All events reported as written are in the file, and the loss is one figure: in the balance, the
rows, the list of boots, the file's header and where the merged file comes from. Proves: ANA-12, COR-20."""
import json
import os

from harness import Machine, check, skip, tool

if os.getuid() != 0:
    skip("kernel events need root")

INI = """[GlobalLogger]
Start = 1
EnableKernelFlags = PROC_THREAD+LOADER+CSWITCH+DISPATCHER
FileName = C:\\full_km_premerge.etl
MaxFileSize = 1
BufferSize = 64 KB
MinimumBuffers = 32
MaximumBuffers = 256
"""
LOAD = "for i in 1 2; do (for k in $(seq 600); do /bin/true; done) & done; wait"

with Machine() as m:
    ini, out = os.path.join(m.dir, "full.ini"), os.path.join(m.dir, "out")
    with open(ini, "w") as f:
        f.write(INI)
    r = tool("rehearse", ini, "--out", out, "--run", LOAD, "--json", expect=1)
    said = json.loads(r.stdout)
    row, = said["sessions"]
    balance, = said["balance"]
    print(balance)
    check(row["status"] == 1502 and balance["lost_file"] > 0, "the file is full", row)
    check(balance["attempted"] == balance["converted"] + balance["lost"] - balance["lost_file"] and balance["balanced"], balance)
    summary = json.loads(tool("summary", said["merged"], "--json").stdout)
    came, = summary["provenance"]["sessions"]
    check(balance["written"] == row["written"] == came["events"] > 0, "written is in the file", balance, row, came)
    check(os.path.getsize(said["merged"]) < 3 << 20, "and the file is full")
    boots = json.loads(tool("boots", "--store", os.path.join(out, "rehearsal.db"), "--json").stdout)["boots"]
    lost = [balance["lost"], row["lost"]["total"], boots[0]["lost"], summary["header"]["eventsLost"], came["eventsLost"]]
    check(len(set(lost)) == 1, "one figure for one loss", lost)
    text = tool("rehearse", ini, "--out", out + "2", "--run", LOAD, expect=1).stdout
    check("events written" in text and "+ lost on the way to the file" in text, text[-600:])
