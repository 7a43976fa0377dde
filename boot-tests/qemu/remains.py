"""The remains of a switched-off machine: its Status, its traces, its marks, read from its disks on this machine."""
import json
import shutil

from qemu import burst, disk, probes, units, witness
from qemu.payload import program_of
from qemu.places import run, built, tool

STORE = "var/lib/autologger/registry.db"
LOGS = "var/log/autologger"


class Remains:
    def __init__(self, work, number, serial, log_disk=None):
        """Reads the disks of `work` into a folder of this boot."""
        self.folder, self.serial, self.image = work / f"boot-{number}", serial, work / "root.img"
        self.recovered = None
        self.was_clean = disk.state(self.image)
        if not self.was_clean[0]:
            disk.replay(self.image)
        disk.extract(self.image, "/var/lib/autologger", self.folder / "root/var/lib")
        below = disk.extract(self.image, "/var/log/autologger", self.folder / ("below/var/log" if log_disk else "root/var/log"))
        self.below = sorted((self.folder / "below").rglob("*.etl")) if log_disk and below else []
        if log_disk:
            disk.extract(log_disk, "/autologger", self.folder / "root/var/log")
        results = work / "results.img"
        if not disk.state(results)[0]:
            disk.replay(results)
        disk.extract(results, "/", self.folder / "results")
        if (self.folder / "results/root").exists():  # of a root in memory
            shutil.rmtree(self.folder / "root", ignore_errors=True)
            (self.folder / "results/root").rename(self.folder / "root")
        self.uname = self.output("uname") or ""  # read now: the folder is removed at the end of a run
        self.table = self.output("status") or ""
        self._summaries, self._status, self._dumped = {}, None, {}

    def root_state(self):
        return self.was_clean

    def store(self):
        path = self.recovered / "registry.db" if self.recovered else self.folder / "root" / STORE
        return path if path.exists() else None

    def recover(self, path):
        """Has `autologger recover` make traces and Status of a file; from here on these are examined. None: it succeeded."""
        if not path.exists():
            return f"there is no {path.name}"
        folder = self.folder / "recovered"
        folder.mkdir()
        if self.store():  # the store of that boot: the Status is added to it
            shutil.copy(self.store(), folder / "registry.db")
        r = tool("recover", "--unsealed", path, "--log-dir", folder / "logs", "--store", folder / "registry.db", check=False)
        self.recovered, self._status, self._summaries, self._dumped = folder, None, {}, {}
        return None if r.returncode == 0 else f"exit {r.returncode}: {r.stdout[-500:]}{r.stderr[-500:]}"

    def numbered(self, name, tally):
        """None when the trace holds exactly the events of the tally."""
        found = self.logs(name)
        if not found:
            return "no such trace"
        r = run(program_of("event_verify"), found[0], self.output_path(tally), check=False)
        return None if r.returncode == 0 else f"exit {r.returncode}: {r.stdout.strip()} {r.stderr.strip()}"

    def status(self):
        if self._status is None:
            said = tool("status", "--store", self.store(), "--json", check=False).stdout if self.store() else ""
            self._status = json.loads(said) if said.startswith("{") else {}
        return self._status

    def _rows(self):
        for session in self.status().get("sessions", []):
            yield session["name"], session
            for provider in session["providers"]:
                yield f"{session['name']}/{provider['name']}", provider

    def row_names(self):
        return [name for name, _ in self._rows()]

    def row(self, name):
        return next((row for known, row in self._rows() if known == name), None)

    def log_folder(self):
        return self.recovered / "logs" if self.recovered else self.folder / "root" / LOGS

    def logs(self, name):
        return sorted(self.log_folder().glob(name))

    def log_names(self):
        return [str(p.relative_to(self.log_folder())) for p in sorted(self.log_folder().rglob("*")) if p.is_file()]

    def summary(self, name):
        """The summary of a trace; {} when there is no such file."""
        if name not in self._summaries:
            found = self.logs(name)
            said = tool("summary", found[0], "--json", check=False).stdout if found else ""
            self._summaries[name] = json.loads(said) if said.startswith("{") else {}
        return self._summaries[name]

    def count(self, name, provider, event):
        if ":" in event:
            return sum(1 for _ in self._matching(name, provider, event))
        counts = self.summary(name).get("counts", [])
        return sum(c["count"] for c in counts if provider in (c["provider"], c["guid"]) and event in ("*", c["event"]))

    def _placed(self, name, provider):
        """(event, processor, raw time, fields as text) of all events of a provider, in the order of the trace."""
        if (name, provider) not in self._dumped:
            found = self.logs(name)
            said = run(built("autologger"), "dump", found[0], "--json", "--provider", provider, check=False).stdout if found else ""
            events = (json.loads(line) for line in said.splitlines())
            self._dumped[(name, provider)] = [(e["event"], e["cpu"], e["raw"], json.dumps(e.get("fields", ""))) for e in events]
        return self._dumped[(name, provider)]

    def _events(self, name, provider):
        """(event, raw time, fields as text)"""
        return [(event, raw, fields) for event, _, raw, fields in self._placed(name, provider)]

    def _matching(self, name, provider, event):
        wanted, _, text = event.partition(":")
        return ((known, raw, fields) for known, raw, fields in self._events(name, provider) if wanted in ("*", known) and text in fields)

    def frames(self, name, text):
        """The number of frames of the trace's stacks with that text in their name; -1: there is no such trace."""
        if ("frames", name) not in self._dumped:
            found = self.logs(name)
            self._dumped[("frames", name)] = run(built("autologger"), "dump", "--symbols", found[0], check=False).stdout if found else None
        said = self._dumped[("frames", name)]
        return -1 if said is None else said.count(text)

    def times(self, name, provider, event):
        """The raw times of such events; events of a trace are read in time order."""
        return (raw for _, raw, _ in self._matching(name, provider, event))

    def first(self, name, provider, event):
        return next(self.times(name, provider, event), None)

    def units(self, name, part):
        """(the units of `systemctl show`, the trace's differences, the largest error of its times in us, the event with that error)"""
        return units.compare(self._events(name, units.PROVIDER), self.output(part) or "")

    def grouped(self, name, part):
        """(the trace's processes, those of /proc among them, the differences)"""
        return units.grouped(self._events(name, "Autologger-Kernel-Cgroups"), self._events(name, "Process"), self.output(part) or "")

    def witnessed(self, name, provider, event, part):
        """(the number of events in the kernel's own trace of the boot, the differences in this one)"""
        return witness.compare(self._placed(name, provider), event, self.output(part) or "")

    def said(self, name, provider, event, part):
        """(the number of events of that name, their differences from the lines of an output)"""
        found = self.logs(name)
        dumped = tool("dump", found[0], "--json", "--provider", provider, check=False).stdout if found else ""
        events = [e for e in map(json.loads, dumped.splitlines()) if e["event"] == event]
        return witness.said(events, event, self.output(part) or "")

    def probed(self, name, part):
        """(the number of driver probes in the trace, their differences from the kernel's lines in that output)"""
        found = self.logs(name)
        dumped = tool("dump", found[0], "--json", "--provider", "Autologger-Device", check=False).stdout if found else ""
        ends = [e["fields"] for e in map(json.loads, dumped.splitlines()) if e["event"] == "DeviceProbeEnd"]
        return probes.compare(ends, self.output(part) or "")

    def together(self, name, one, other):
        """The largest distance in microseconds between the times of two records of the same events."""
        return witness.apart(*([(cpu, raw, fields) for event, cpu, raw, fields in self._placed(name, provider) if event == wanted] for provider, wanted in (one, other)))

    def burst(self, name, kernel, session, parts):
        """(the number of events that cpu_burst wrote, the differences in a trace, its header, its dump, the Status and the kernel's trace)"""
        found, row = self.logs(name), self.row(session)
        if not found or not row:
            return 0, ["no such trace, or no such row"]
        calls = [call for part in parts for call in burst.notes(self.output_path(part))]
        header, events = burst.decode(found[0])
        written, refused = sum(c.result == 0 for c in calls), sum(c.result != 0 for c in calls)
        said = run(built("autologger"), "dump", found[0], "--json", check=False).stdout
        switches = {(cpu, json.loads(fields)["NewThreadId"]) for event, cpu, _, fields in self._placed(kernel, "Thread") if event == "CSwitch"}
        counts = {"calls that succeeded": written, "events in the file": len(events), "Status written": row["written"]}
        lost = {"calls that failed": refused, "the header's EventsLost": header.events_lost, "Status lost": row["lost"]["total"]}
        wrong = [f"{counts}"] * (len(set(counts.values())) > 1) + [f"{lost}"] * (len(set(lost.values())) > 1)
        print(f"{name}: {written} calls, {len(events)} events, {refused} lost, by processor {burst.places(calls)}")
        return written, wrong + burst.values(calls, events, header.frequency) + burst.dumped(said, events) + burst.switched(calls, switches)

    def output_path(self, part):
        return self.folder / "results/out" / part

    def output(self, part):
        path = self.output_path(part)
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n") if path.exists() else None

    def _mark_lines(self):
        path = self.folder / "results/marks"
        for line in path.read_text().splitlines() if path.exists() else []:
            name, time, ticks = line.split()
            yield name, int(time), int(ticks)

    def marks(self):
        """Each mark with its time in ns; of a mark that was set twice, the first."""
        return {name: time for name, time, _ in reversed(list(self._mark_lines()))}

    def after(self, mark, name, provider, event):
        """Milliseconds from a mark to the first such event of a trace, by the clock of the trace."""
        raw, header = self.first(name, provider, event), self.summary(name).get("header", {})
        found = next(((time, ticks) for known, time, ticks in self._mark_lines() if known == mark), None)
        if raw is None or found is None:
            return None
        in_ticks = header["perfFreq"] != 10 ** 9  # else the file counts the nanoseconds of CLOCK_MONOTONIC_RAW
        return (raw - found[1]) * 1e3 / header["perfFreq"] if in_ticks else (raw - found[0]) / 1e6
