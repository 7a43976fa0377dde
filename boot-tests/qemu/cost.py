"""The cost of a boot, without noise: the guest's clock counts instructions (-icount), one processor, and boots of the same image that differ only in
the kernel's command line. The root is in memory: a disk's time would depend on this machine, and be in the figures. The root comes with the
initramfs, and moving it to its place, before the mark "init", is not in the figures.

bare     the same initramfs without the root, packed as usual: how long the kernel takes until /init; that boot ends there
off      autologger=off: nothing of ours starts
on       as it is declared
kernel   autologger=off, and the kernel's own tracing of the same tracepoints, with stacks, from its command line (boot-cpu)"""
import pathlib
import re
import shutil
import tempfile

from qemu import initramfs, runner
from qemu.places import SOURCE, Failed
from qemu.remains import Remains
from qemu.scenario import Scenario

COST = SOURCE / "boot-tests" / "cost"
# the tracepoints of boot-cpu; kernel/source/sources.def has the same names
TRACEPOINTS = ("sched:sched_process_exec sched:sched_process_fork sched:sched_process_exit sched:sched_switch sched:sched_waking "
               "block:block_rq_insert block:block_rq_issue block:block_rq_complete irq:softirq_entry irq:softirq_exit")
OWN_TRACING = "trace_buf_size=16M trace_clock=perf trace_options=stacktrace trace_event=" + ",".join(TRACEPOINTS.split())


OFF, BARE = "autologger=off", "boot-tests=bare"
SAME = "norandmaps"  # random addresses make boots of one image differ, with tracing and without


class Measured:
    """One boot: guest seconds from the start of /init to the end of the programs, and the part in which the processor was busy; and the whole boot:
    the same from the kernel's start, where its clock begins."""

    def __init__(self, remains, kernel_seconds):
        marks = remains.marks()
        if not {"init", "programs"} <= marks.keys():
            raise Failed("the guest did not get to the end of its programs; its marks: " + ", ".join(marks))
        self.marks, self.remains, self.file_bytes, self.available_kb = marks, remains, 0, _available(remains)
        self.seconds = (marks["programs"] - marks["init"]) / 1e9
        self.whole = kernel_seconds + self.seconds
        self.busy = self._busy(remains, "uptime-programs") - self._busy(remains, "uptime-init")

    @staticmethod
    def _busy(remains, part):
        up, idle = (float(word) for word in (remains.output(part) or "0 0").split()[:2])
        return up - idle


def _boot(scenario, parts, work, number, arguments):
    boot = runner.one_boot(scenario, number, parts, work, exact=True, arguments=arguments)
    if boot.trouble():
        raise Failed(boot.trouble())
    remains = Remains(work, number, boot.serial)
    runner.refill(work)
    return remains


def _kernel_seconds(scenario, parts, work):
    """From the kernel's start to the start of /init."""
    image, _, disks = parts
    inner = work / "bare"
    inner.mkdir()
    (inner / "boot.snapshot").symlink_to(work / "boot.snapshot")
    marks = _boot(scenario, (image, initramfs.make(scenario, inner), disks), work, 0, f"{SAME} {OFF} {BARE}").marks()
    if "begin" not in marks:
        raise Failed("the guest did not come to its /init")
    return marks["begin"] / 1e9


def measure(root, profile, runs=1, keep=False, say=lambda text: None):
    """{"off": [Measured, ...], "on": ..., "kernel": ...}"""
    scenario = Scenario(COST / root)
    scenario.declare = [f"@profiles@/{profile}.ini"]
    work = pathlib.Path(tempfile.mkdtemp(prefix="autologger-boot-cost-"))
    kinds = {"off": f"{SAME} {OFF}", "on": SAME}
    if profile == "boot-cpu":
        kinds["kernel"] = f"{SAME} {OFF} {OWN_TRACING}"
    found, number = {kind: [] for kind in kinds}, 0
    try:
        parts = runner.prepare(scenario, work, in_memory=True)
        runner.save(work)
        kernel_seconds = _kernel_seconds(scenario, parts, work)
        say(f"the kernel until /init: {kernel_seconds:.6f} s")
        for _ in range(runs):
            for kind, arguments in kinds.items():
                number += 1
                found[kind].append(Measured(_boot(scenario, parts, work, number, arguments), kernel_seconds))
                say(f"{kind}: whole boot {found[kind][-1].whole:.6f} s, from /init {found[kind][-1].seconds:.6f} s, busy {found[kind][-1].busy:.2f} s")
        for kind in kinds:
            for one in found[kind]:
                one.remains.status()  # read before the folder is removed
                one.file_bytes = sum(p.stat().st_size for p in one.remains.log_folder().rglob("*.etl"))
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    return found


def figures(found):
    """Means in seconds, and ratios to "off"; the added time compared with that of the kernel's own tracing."""
    mean = {kind: sum(m.busy for m in all_of) / len(all_of) for kind, all_of in found.items()}
    from_init = {kind: sum(m.seconds for m in all_of) / len(all_of) for kind, all_of in found.items()}
    whole = {kind: sum(m.whole for m in all_of) / len(all_of) for kind, all_of in found.items()}
    out = {"busy": mean, "seconds": from_init, "whole": whole, "ratio": mean["on"] / mean["off"],
           "ratio_seconds": from_init["on"] / from_init["off"], "ratio_whole": whole["on"] / whole["off"]}
    if "kernel" in mean:
        out["ratio_to_kernel"] = from_init["on"] / from_init["kernel"]
        out["added_to_kernel"] = (from_init["on"] - from_init["off"]) / (from_init["kernel"] - from_init["off"])
    sessions = found["on"][-1].remains.status().get("sessions", [])
    out["lost"] = sum(s["lost"]["total"] for s in sessions)
    out["events"] = sum(s["written"] for s in sessions)
    out["total"] = _total(found["on"]) - _total(found["off"])
    out["memory_kb"] = found["off"][-1].available_kb - found["on"][-1].available_kb
    out["file_bytes"] = found["on"][-1].file_bytes
    if not out["events"]:  # a boot that recorded nothing costs nothing: its figures would mean nothing
        said = found["on"][-1].remains.output("status") or "no Status"
        raise Failed(f"the traced boot wrote no events: {said}")
    return out


def _available(remains):
    """KB of available memory, when the programs were done: the memory then holds the whole boot."""
    found = re.search(r"^MemAvailable:\s*(\d+)", remains.output("meminfo-programs") or "", re.MULTILINE)
    return int(found.group(1)) if found else 0


def _total(boots):
    """Guest seconds to the end of the machine, with all the work that waits for the end of the boot: files, Status, the merge."""
    return sum((m.marks["finish"] - m.marks["init"]) / 1e9 for m in boots) / len(boots)


def times(keep=False):
    """Milliseconds of guest time from the start of /init, in the order of the requested moments; None: not seen."""
    scenario, work = Scenario(COST / "times"), pathlib.Path(tempfile.mkdtemp(prefix="autologger-boot-times-"))
    try:
        parts = runner.prepare(scenario, work, in_memory=True)
        boot = runner.one_boot(scenario, 1, parts, work, exact=True)
        if boot.trouble():
            raise Failed(boot.trouble())
        remains = Remains(work, 1, boot.serial)
        marks, trace = remains.marks(), "c/boot/boot.etl"
        after = {name: (marks[name] - marks["init"]) / 1e6 for name in ("early-call", "early-returned", "socket") if name in marks}
        return {
            "boot held up": after["early-returned"] - after["early-call"] if "early-returned" in after else None,
            "socket ready": after.get("socket"),
            "first kernel event": remains.after("init", trace, "Thread", "*"),
            "first user event": remains.after("init", trace, "Contoso-Demo", "Start"),
            "early program called": after.get("early-call"),
        }
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
