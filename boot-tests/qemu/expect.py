"""Expectations of a boot's remains, a line each; read from the disks of the switched-off machine.

  row NAME FIELD OP VALUE          a row of Status: a session, or SESSION/PROVIDER; FIELD is a path in `status --json`
  status FIELD OP VALUE            FIELD is a path in `status --json` that is of no row (stop_reason, merged)
  rows = N                         how many session rows there are
  failed = N                       how many rows failed
  no-row NAME
  file PATH | no-file PATH         below the log folder (a name may have * in it)
  trace PATH FIELD OP VALUE        FIELD is a path in `summary --json`
  events PATH PROVIDER EVENT OP N  how many of them the trace has; EVENT * = all of the provider, NAME:TEXT = those with that text
                                   in their fields
  frames PATH TEXT OP N            how many frames of call stacks have a name with that text (dump --symbols)
  before PATH P1 E1 P2 E2          the first P1 E1 is earlier than the first P2 E2
  none-between PATH P1 E1 P2 E2 P3 E3   no P3 E3 from the first P1 E1 to the first P2 E2 after it
  balance NAME                     attempted = written + lost, by counts that are independent of each other
  output PROGRAM OP TEXT           the output of a part of the guest (a file of its /run/boot-test/out)
  units PATH PROGRAM OP N          each unit in that output of `systemctl show` has its times in the trace, once, 49 of 50 at most 1 ms off
                                   on the trace's clock; N: the number of units
  cgroups PATH PROGRAM OP N        each process of the trace has a unit or none, and those of that output (PID and its line of /proc) theirs;
                                   N: the number of the latter in the trace
  witness PATH PROVIDER EVENT PROGRAM OP N   each event of that name in that output of a trace instance's `trace` is in the trace, on its
                                   processor, in order, by its threads; the trace may go on for longer; N: their number
  said PATH PROVIDER EVENT PROGRAM OP N   the events of that name are, in order, the lines "EVENT FIELD=VALUE ..." of that output; pid is
                                   the header's; N: their number
  probed PATH PROGRAM OP N         each probe of a driver in the trace is what initcall_debug printed in that output, by device, result and length; N: their number
  together PATH PROVIDER1 EVENT1 PROVIDER2 EVENT2 OP N   us between the times of two records of the same events, processor by processor
  mark NAME | no-mark NAME         a moment that was reached, or was not
  time NAME1 NAME2 OP N            milliseconds from one mark to the other
  after MARK PATH PROVIDER EVENT OP N   milliseconds from a mark to the first such event
  numbered PATH TALLY              the trace holds each numbered event of that tally (event_writer) once, in order, whole
  burst PATH KERNEL SESSION OP N NOTES...   the calls that cpu_burst noted are the events of the trace PATH, of its dump, its header and the row:
                                   each once, with its values, thread, time and processor; KERNEL switched to the threads there; N: their number
  recover OUTPUT | recover-log PATH   the lines below are about `autologger recover`'s results for that file (of the guest's outputs;
                                   of its log folder)
  serial has TEXT | serial lacks TEXT
  nothing-below                    no trace lies in the root below the mount point of the log disk
  clean                            the root was unmounted in order
  only KERNEL ...                  one of the other lines, if that kernel was booted (stable, backports, old)
OP: = != < <= > >= has lacks. `has` with a list: an element (conditions: the number of one, or a text of its reason)."""
import json
import operator
import shlex

from qemu.places import Failed

NUMERIC = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def compare(found, op, wanted):
    if op in NUMERIC:
        return found is not None and NUMERIC[op](float(found), float(wanted))
    if op in ("has", "lacks"):
        return _has(found, wanted) == (op == "has")
    text = json.dumps(found) if isinstance(found, (bool, type(None))) else str(found)
    if op in ("=", "!="):
        return (text == wanted) == (op == "=")
    raise Failed(f"'{op}' is no comparison")


def _has(found, wanted):
    if isinstance(found, list):
        return any(_has(element, wanted) for element in found)
    if isinstance(found, dict):
        return str(found.get("number")) == wanted or wanted in str(found.get("reason", "")) + str(found.get("advice", ""))
    return found is not None and wanted in str(found)


def path_of(value, path):
    for key in path.split("."):
        if isinstance(value, list) and key.isdigit():
            value = value[int(key)] if int(key) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(key)
        else:
            return None
    return value


class Checker:
    """Holds one boot's remains against a file of expectations."""

    def __init__(self, remains, kernel="stable"):
        self.remains, self.kernel = remains, kernel

    def check(self, path):
        """The failed lines, each with the value found instead; and the number of lines."""
        wrong, lines = [], 0
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            words = shlex.split(line, comments=True)
            if not words or (words[0] == "only" and words[1] != self.kernel):
                continue
            if words[0] == "only":
                words = words[2:]
            lines += 1
            handler = getattr(self, "on_" + words[0].replace("-", "_"), None)
            if not handler:
                raise Failed(f"{path}:{number}: '{words[0]}' is not known")
            try:
                found = handler(*words[1:])
            except TypeError as e:
                raise Failed(f"{path}:{number}: {line}: {e}") from e
            except Failed as e:
                found = str(e)
            if found is not None:
                wrong.append(f"{path.name}:{number}: {line}\n    found: {found}")
        if not lines:
            raise Failed(f"{path} expects nothing")
        return wrong, lines

    def on_row(self, name, field, op, value):
        row = self.remains.row(name)
        if row is None:
            return "no such row; there are: " + ", ".join(self.remains.row_names())
        found = path_of(row, field)
        return None if compare(found, op, value) else json.dumps(found, ensure_ascii=False)

    def on_status(self, field, op, value):
        found = path_of(self.remains.status(), field)
        return None if compare(found, op, value) else json.dumps(found, ensure_ascii=False)

    def on_no_row(self, name):
        return None if self.remains.row(name) is None else "there is one"

    def on_rows(self, op, value):
        found = len(self.remains.status().get("sessions", []))
        return None if compare(found, op, value) else found

    def on_failed(self, op, value):
        found = self.remains.status().get("failed")
        return None if compare(found, op, value) else found

    def on_file(self, name):
        return None if self.remains.logs(name) else "not there; there are: " + ", ".join(self.remains.log_names())

    def on_no_file(self, name):
        return ", ".join(str(p) for p in self.remains.logs(name)) or None

    def on_trace(self, name, field, op, value):
        found = path_of(self.remains.summary(name), field)
        return None if compare(found, op, value) else json.dumps(found)

    def on_frames(self, name, text, op, count):
        found = self.remains.frames(name, text)
        return None if compare(found, op, count) else f"{found} frames"

    def on_events(self, name, provider, event, op, count):
        found = self.remains.count(name, provider, event)
        return None if compare(found, op, count) else found

    def on_before(self, name, provider1, event1, provider2, event2):
        first, second = (self.remains.first(name, *e) for e in ((provider1, event1), (provider2, event2)))
        return None if first is not None and second is not None and first < second else f"{first} and {second}"

    def on_none_between(self, name, provider1, event1, provider2, event2, provider3, event3):
        begin = self.remains.first(name, provider1, event1)
        end = next((t for t in self.remains.times(name, provider2, event2) if begin is not None and t > begin), None)
        if begin is None or end is None:
            return f"from {begin} to {end}"
        return ", ".join(str(t) for t in self.remains.times(name, provider3, event3) if begin <= t <= end) or None

    def on_balance(self, name):
        row = self.remains.row(name)
        if row is None:
            return "no such row"
        attempted, converted, lost = row["attempted"], row["converted"], row["lost"]["total"]
        return None if attempted and attempted == converted + lost else f"{attempted} = {converted} + {lost}"

    def on_output(self, part, op, text):
        found = self.remains.output(part)
        return None if compare(found, op, text) else repr(found[-600:] if found else found)

    def on_units(self, name, part, op, count):
        found, wrong, off_us, what = self.remains.units(name, part)
        if wrong or off_us > 1000:
            return f"{len(wrong)} times of {found} units do not agree, times are {off_us:.0f} us off, {what}: " + "; ".join(wrong[:5])
        print(f"{found} units: all times as systemctl shows them, {off_us:.1f} us off on the trace's clock; {what}")
        return None if compare(found, op, count) else found

    def on_cgroups(self, name, part, op, count):
        processes, seen, wrong = self.remains.grouped(name, part)
        if wrong:
            return f"{len(wrong)} of {processes}: " + "; ".join(wrong[:5])
        print(f"{processes} processes with a unit or none; {seen} of them as /proc shows them")
        return None if compare(seen, op, count) else seen

    def on_witness(self, name, provider, event, part, op, count):
        found, wrong = self.remains.witnessed(name, provider, event, part)
        return None if not wrong and compare(found, op, count) else f"{found}; " + "; ".join(wrong)

    def on_said(self, name, provider, event, part, op, count):
        found, wrong = self.remains.said(name, provider, event, part)
        return None if not wrong and compare(found, op, count) else f"{found}; " + "; ".join(wrong)

    def on_probed(self, name, part, op, count):
        found, wrong = self.remains.probed(name, part)
        return None if not wrong and compare(found, op, count) else f"{found}; " + "; ".join(wrong)

    def on_together(self, name, provider1, event1, provider2, event2, op, microseconds):
        found = self.remains.together(name, (provider1, event1), (provider2, event2))
        print(f"{provider1} {event1} and {provider2} {event2}: {found} us apart")
        return None if compare(found, op, microseconds) else f"{found} us"

    def on_mark(self, name):
        return None if name in self.remains.marks() else "only: " + ", ".join(self.remains.marks())

    def on_no_mark(self, name):
        return "it was reached" if name in self.remains.marks() else None

    def on_time(self, first, second, op, milliseconds):
        marks = self.remains.marks()
        if first not in marks or second not in marks:
            return "only: " + ", ".join(marks)
        found = (marks[second] - marks[first]) / 1e6
        return None if compare(found, op, milliseconds) else f"{found:.3f} ms"

    def on_after(self, mark, name, provider, event, op, milliseconds):
        found = self.remains.after(mark, name, provider, event)
        return None if compare(found, op, milliseconds) else f"{found} ms"

    def on_numbered(self, name, tally):
        return self.remains.numbered(name, tally)

    def on_burst(self, name, kernel, session, op, count, *parts):
        found, wrong = self.remains.burst(name, kernel, session, parts)
        if wrong:
            return f"{len(wrong)} of {found}: " + "; ".join(wrong[:5])
        return None if compare(found, op, count) else found

    def on_recover(self, part):
        return self.remains.recover(self.remains.output_path(part))

    def on_recover_log(self, name):
        found = self.remains.logs(name)
        return self.remains.recover(found[0]) if found else "not there; there are: " + ", ".join(self.remains.log_names())

    def on_serial(self, op, text):
        return None if compare(self.remains.serial, op, text) else "the end: " + repr(self.remains.serial[-300:])

    def on_nothing_below(self):
        return ", ".join(str(p) for p in self.remains.below) or None

    def on_clean(self):
        clean, words = self.remains.root_state()
        return None if clean else words
