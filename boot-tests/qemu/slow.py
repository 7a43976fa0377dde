"""Boots with a planted cause: the verdict of `autologger report`, beside systemd-analyze's output.

A folder of boot-tests/slow is a scenario with a file `cause`:
  rule   the rule of the verdict that has to come first (autologger/analysis/boot_rules.def)
  names  texts that the verdict's sentence has to have, with " & " between them
  kernel   texts that a line of the kernel's log has to have in what `why` says; may be missing
  journal  texts that a line of the journal has to have in what `why` says in the guest (which has a file /etc/slow-why); may be missing
  seconds  its least duration: a boot that took six times as long, on a busy host, does not count
`keep`: the traces and systemd-analyze's output are copied there, by name."""
import configparser
import json
import pathlib
import re
import shutil
import tempfile

from qemu import runner
from qemu.places import Failed, Stuck, built, run
from qemu.remains import Remains

TRACE = "c/boot/boot.etl"
SAID = ("analyze-time", "analyze-blame", "analyze-chain", "why")


class Found:
    """The result of one such boot."""

    def __init__(self, scenario):
        self.scenario, self.report, self.said, self.wrong, self.missed, self.seconds, self.busy, self.log = scenario, {}, {}, [], [], 0.0, False, []

    @property
    def counts(self):
        """Whether the boot is a test of the verdict."""
        return not (self.busy and self.missed)

    @property
    def verdict(self):
        return self.report.get("verdict", {})

    def as_json(self):
        return {"name": self.scenario.name, "about": self.scenario.about, "named": not self.missed, "missed": self.missed, "wrong": self.wrong,
                "verdict": self.verdict, "phases": self.report.get("phases"), "seconds": round(self.seconds, 1), **self.said}


def cause_of(scenario):
    ini = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    ini.read_string("[cause]\n" + (scenario.folder / "cause").read_text(encoding="utf-8"))
    return ini["cause"]["rule"], ini["cause"]["names"], float(ini["cause"]["seconds"]), ini["cause"].get("journal", ""), ini["cause"].get("kernel", "")


def judge(found):
    """Collects what the verdict lacks."""
    rule, names, seconds, journal, log = cause_of(found.scenario)
    found.busy = found.report.get("finish", 0) / 1e3 > BUSY * seconds
    if found.verdict.get("rule") != rule:
        found.missed.append(f"the verdict's rule is {found.verdict.get('rule')}, not {rule}")
    for name in names.split(" & "):
        if name not in found.verdict.get("sentence", ""):
            found.missed.append(f"'{name}' is not in: {found.verdict.get('sentence')}")
    for text in filter(None, log.split(" & ")):
        if not any(text in line for line in found.log):
            found.missed.append(f"'{text}' is in no line of the kernel's log that why has: {found.log}")
    for text in filter(None, journal.split(" & ")):
        if not re.search(r"^  journal  (.*\n {11})*.*" + re.escape(text), found.said.get("why") or "", re.MULTILINE):
            found.missed.append(f"'{text}' is no line of the journal in: {found.said.get('why')}")
    if len(found.verdict.get("numbers", [])) != 3:
        found.wrong.append(f"there are {len(found.verdict.get('numbers', []))} numbers, not 3")
    if not found.verdict.get("next"):
        found.wrong.append("it does not say what to look at next")


BUSY = 6  # times the planted seconds
SECONDS = {"min": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


def analyze_phases(text):
    """{"kernel": s, "initrd": s, "userspace": s} of "Startup finished in 1.2s (kernel) + 3min 4s (userspace) = ..."."""
    found = {}
    for length, name in re.findall(r"((?:[\d.]+(?:min|ms|us|s) ?)+)\((\w+)\)", text):
        found[name] = sum(float(n) * SECONDS[unit] for n, unit in re.findall(r"([\d.]+)(min|ms|us|s)", length))
    return found


def compare_phases(found):
    """Phases agree with systemd-analyze within 10 ms."""
    said = analyze_phases(found.said.get("analyze-time", ""))
    ours = found.report.get("systemd", {})
    if "userspace" not in said:
        found.wrong.append(f"systemd-analyze says no times: {found.said.get('analyze-time')}")
    for name, seconds in said.items():
        if name not in ours or abs(ours[name] - seconds) > 0.010:
            found.wrong.append(f"{name}: systemd-analyze has {seconds:.3f} s, the report {ours.get(name)}")
    # the phases are on the trace's clock, which is never adjusted: under emulation systemd's clock differs by up to 0.2 s
    apart = abs(ours.get("apart", 0)) / 1e3
    user = sum(p["end"] - p["start"] for p in found.report["phases"] if p["start"] >= found.report["userStart"]
               and p["name"] in ("user space", "waiting for a person")) / 1e3
    if "userspace" in said and abs(user - said["userspace"]) > 0.010 + apart:
        found.wrong.append(f"user space: systemd-analyze has {said['userspace']:.3f} s, the phases {user:.3f}, the clocks {apart:.3f} apart")


def boot_one(scenario, keep=None, say=lambda text: None):
    found = Found(scenario)
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"autologger-slow-{scenario.name}-"))
    try:
        parts = runner.prepare(scenario, work)
        boot = runner.boot_again(scenario, 1, parts, work, say)
        found.seconds = boot.seconds
        remains = Remains(work, 1, boot.serial)
        found.said = {name: remains.output(name) for name in SAID}
        traces = remains.logs(TRACE)
        if not traces:
            raise Failed(f"there is no {TRACE}: {remains.log_names()}")
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(traces[0], keep / f"{scenario.name}.etl")
            (keep / f"{scenario.name}.said").write_text("\n".join(f"## {n}\n{t}" for n, t in found.said.items()))
            if remains.store():
                shutil.copy(remains.store(), keep / f"{scenario.name}.db")
        found.report = json.loads(run(built("autologger"), "report", "--json", traces[0], check=False).stdout or "{}")
        found.log = json.loads(run(built("autologger"), "why", "--json", traces[0], check=False).stdout or "{}").get("verdict", {}).get("kernel", [])
        judge(found)
        compare_phases(found)
    except (Failed, Stuck) as e:
        found.wrong.append(str(e))
        found.missed.append("there is no report")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return found


def show(found, keep):
    """The verdict, and beside it systemd-analyze's output of the same boot."""
    print(f"== {found.scenario.name}: {found.scenario.about} ({found.seconds:.0f} s)")
    print(f"autologger: {found.verdict.get('sentence')}")
    for number in found.verdict.get("numbers", []):
        print(f"    {number['what']}: {number['value']}")
    for name, lines in (("analyze-time", 1), ("analyze-blame", 4), ("analyze-chain", 9)):
        text = [line for line in (found.said.get(name) or "").splitlines() if line.strip()]
        skip = 2 if name == "analyze-chain" else 0  # its explanation of its own signs
        print(f"systemd-analyze {name[8:]}:", *(f"\n    {line}" for line in text[skip:skip + lines]), sep="")
    for wrong in found.missed + found.wrong:
        print("    WRONG:" if found.counts or wrong in found.wrong else "    not counted, this machine is too busy:", wrong)
    if keep:
        print(f"    left in {keep}")
