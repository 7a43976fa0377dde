"""A kernel session's events about the machine, against the machine's own programs and /proc: processors, memory, disks, file systems, network cards,
addresses, interrupts, services; which flags choose them, and that NO_SYSCONFIG suppresses them. Collecting them does not delay a stop.
Proves: MRG-06."""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import time

from harness import check, skip, tool

CLASSES = ("SystemConfig", "SystemConfigEx", "Autologger-Boot-Environment")
STOP_MS = 1000  # generous, for a loaded machine; a few ms are measured


def said(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rehearse(work, name, flags):
    declared, out = work / f"{name}.ini", work / name
    declared.write_text(f"[GlobalLogger]\nEnableKernelFlags = {flags}\nFileName = k.etl\n")
    r = tool("rehearse", "--out", str(out), "--run", "true", str(declared), expect=None)
    if r.returncode and "1314" in r.stdout + r.stderr:
        skip("no kernel events here: " + r.stdout[-200:])
    check(r.returncode == 0, r.stdout, r.stderr)
    traces = list(out.rglob("*.etl"))
    check(len(traces) == 1, "one trace is expected", traces)
    found = []
    for line in tool("dump", "--json", str(traces[0])).stdout.splitlines():
        e = json.loads(line)
        if e["provider"].get("name") in CLASSES:
            check(e["decoded"] == "ok", "not all of it is decoded", line)
            found.append(e)
    return found


def fields(events, name):
    return [e["fields"] for e in events if e["event"] == name]


def same(what, found, wanted):
    check(found == wanted, what, ": found", found, "wanted", wanted)


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8").strip()


def processors(events):
    cpu = {row["field"].rstrip(":"): row["data"] for row in said("lscpu", "-J")["lscpu"]}
    whole = fields(events, "CPU")[-1]
    same("processors", whole["NumberOfProcessors"], os.cpu_count())
    same("page size", whole["PageSize"], os.sysconf("SC_PAGE_SIZE"))
    same("memory", whole["MemSize"], int(re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo"))[1]) // 1024)
    same("name", whole["ComputerName"], platform.node())
    if platform.machine() == "x86_64":
        same("family", whole["ProcessorLevel"], int(cpu["CPU family"]))
        same("model, stepping", int(str(whole["ProcessorRevision"]), 0), int(cpu["Model"]) << 8 | int(cpu["Stepping"]))
        same("names", {p["ProcessorName"] for p in fields(events, "Processor")}, {cpu["Model name"][:63]})
        same("vendor", {p["VendorIdentifier"] for p in fields(events, "Processor")}, {cpu["Vendor ID"]})
    same("each processor", len(fields(events, "Processor")), os.cpu_count())
    kernel = fields(events, "BootKernel")[0]
    same("kernel", kernel["Release"], platform.release())
    same("command line", kernel["CommandLine"], read("/proc/cmdline"))
    same("clock source", kernel["ClockSource"], read("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
    if platform.machine() == "x86_64":
        guest = "hypervisor" in cpu["Flags"].split()  # lscpu's own "Hypervisor vendor" knows only some of them
        same("hypervisor", kernel["Hypervisor"] != "", guest)
        same("its id", kernel["HypervisorId"] != "", guest)
    born = subprocess.run(["stat", "-c", "%W", "/"], capture_output=True, text=True, check=True).stdout.strip()
    date = fields(events, "BuildInfo")[0]["InstallDate"][:19]
    same("install date", date, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(born))) if born not in ("0", "-") else "1601-01-01T00:00:00")


def disks(events):
    listed = said("lsblk", "-J", "-b", "-a", "-o", "NAME,TYPE,SIZE,LOG-SEC,MAJ:MIN,MOUNTPOINT,FSTYPE")["blockdevices"]
    real = [d for d in listed if int(d["size"] or 0) and d["type"] in ("disk", "loop", "rom")]
    numbers = [d["DiskNumber"] for d in fields(events, "PhyDisk")]
    same("disks", len(numbers), len(real))
    same("their numbers", len(set(numbers)), len(numbers))
    parts = [p for d in real for p in d.get("children", []) if p["type"] == "part"]
    found = sorted(v["PartitionSize"] for v in fields(events, "LogDisk") if v["DriveType"] == 1)
    same("partitions", found, sorted(int(p["size"]) for p in parts))
    root = [v for v in fields(events, "LogDisk") if v["DriveLetter"] == "C:"]
    mounts = {m.split()[4]: m for m in read("/proc/self/mountinfo").splitlines()}
    if mounts["/"].split(" - ")[1].split()[1].startswith("/dev/"):
        st = os.statvfs("/")
        same("the root's blocks", [v["TotalNumberOfClusters"] for v in root], [st.f_blocks])
        same("their size", [v["SectorsPerCluster"] * v["BytesPerSector"] for v in root], [st.f_frsize])
        check(0 < root[0]["NumberOfFreeClusters"] < st.f_blocks, "its free blocks", root[0]["NumberOfFreeClusters"], st.f_bfree)
        same("its file system", [v["FileSystem"] for v in root], [mounts["/"].split(" - ")[1].split()[0]])
    # each mount of a disk, by its device: the root is C:
    mapped = {v["DosPath"]: v["NtPath"] for v in fields(events, "VolumeMapping")}
    check("C:\\" in mapped, "the root's volume", mapped)
    for at, line in mounts.items():
        device = line.split(" - ")[1].split()[1]
        if device.startswith("/dev/") and os.path.isdir(at) and at != "/":
            check("C:" + at.replace("/", "\\") + "\\" in mapped, "the mount", at, "of", device, mapped)


def network(events):
    cards = {c["ifindex"]: c for c in said("ip", "-j", "addr") if "LOOPBACK" not in c["flags"]}
    found = {n["Ipv4Index"]: n for n in fields(events, "NIC")}
    same("cards", sorted(found), sorted(cards))
    for index, card in cards.items():
        same("name", found[index]["NICDescription"].split()[0], card["ifname"])
        same("addresses", set(filter(None, found[index]["IpAddresses"].split(";"))), {a["local"] for a in card["addr_info"]})
        servers = [l.split()[1] for l in read("/etc/resolv.conf").splitlines() if l.startswith("nameserver ")] if card["addr_info"] else []
        same("name servers", list(filter(None, found[index]["DnsServerAddresses"].split(";"))), servers)
        if re.fullmatch("([0-9a-f]{2}:){5}[0-9a-f]{2}", card.get("address", "")):
            same("MAC", int(str(found[index]["PhysicalAddr"]), 0), int.from_bytes(bytes.fromhex(card["address"].replace(":", "")), "little"))
    same("ports", [n["MaxUserPort"] for n in fields(events, "Network")], [int(read("/proc/sys/net/ipv4/ip_local_port_range").split()[1])])


def devices(events):
    shown = {int(i["IRQNum"]): i for i in fields(events, "IRQ")}
    for number, irq in shown.items():
        mask = read(f"/proc/irq/{number}/smp_affinity").replace(",", "")
        same("affinity", int(str(irq["IRQAffinity"]), 0) << 64 * irq["IRQGroup"], int(mask, 16))
    pci = pathlib.Path("/sys/bus/pci/devices")
    names = sorted(p.name for p in pci.iterdir()) if pci.is_dir() else []
    same("PCI", sorted(p["DeviceID"].split("\\")[-1] for p in fields(events, "PnP") if p["DeviceID"].startswith("PCI")), names)


def main(work):
    for program in ("lscpu", "lsblk", "ip"):
        if not shutil.which(program):
            skip(f"no {program}")
    events = rehearse(work, "all", "PROC_THREAD")
    for part in (processors, disks, network, devices):
        part(events)
    first, last = ([e for e in events if e["event"] == name][-1] for name in ("CPU", "BootKernel"))
    took = (float(last["time"][17:-1]) - float(first["time"][17:-1])) % 60 * 1000
    check(took < STOP_MS, "the stop was held up", took, "ms")
    same("suppressed", [e["event"] for e in rehearse(work, "none", "PROC_THREAD+NO_SYSCONFIG")], ["VolumeMapping"])
    chosen = {e["provider"]["name"] + "/" + e["event"] for e in rehearse(work, "some", "PROC_THREAD+SYSCFG_NETWORK")}
    same("chosen", chosen, {"SystemConfigEx/VolumeMapping", "SystemConfig/NIC", "SystemConfig/Network"})
    print(f"{len(events)} events, collected in {took:.1f} ms")


with tempfile.TemporaryDirectory(prefix="autologger-config-") as folder:
    main(pathlib.Path(folder))
