"""Follows the advice of each failed row; an advice without the expected text fails the test."""
import re

from qemu.places import Failed

LOGS = "/var/log/autologger"


def in_section(text, section, change):
    """The declaration's text with `change` applied to what is below the last [section]."""
    head, found, below = text.rpartition(f"[{section}]\n")
    if not found:
        raise Failed(f"there is no [{section}]")
    body, blank, rest = below.partition("\n\n")
    return head + change(found, body) + blank + rest


def value(old, new):
    def change(title, body):
        if old not in body:
            raise Failed(f"{title.strip()} has no {old!r}")
        return title + body.replace(old, new)
    return change


def renamed(old, new):
    return lambda title, body: title.replace(old, new) + body


def add_guid(said):
    return lambda title, body: f'{title}{said[1]}\n{body}'


def no_more_than(said):
    return lambda title, body: title + re.sub(r"BufferSize( +)= .*", rf"BufferSize\1= {said[1]} KB", body)


REG = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\WMI\Autologger"
# row: its advice's expected text, and the action: on which file and section; or on the disk
ROWS = {
    "missing-guid": (r'add ("Guid"="\{[-0-9a-f]+\}")', "missing-guid.reg", REG + r"\missing-guid", add_guid),
    "wrong-type": (r"write it as (dword:[0-9a-f]+)", "missing-guid.reg", REG + r"\wrong-type", lambda said: value('"BufferSize"="64"', f'"BufferSize"={said[1]}')),
    "NT Kernel Logger": (r"give each session a name", "boot.ini", "Autologger/NT Kernel Logger", lambda _: renamed("NT Kernel Logger", "kernel-too")),
    "other": (r"a GUID of its own", "boot.ini", "Autologger/other", lambda _: value("f9c61cfc}", "f9c61cfd}")),
    "new-file": (r"remove NEWFILE", "boot.ini", "Autologger/new-file", lambda _: value("LogFileMode = NEWFILE\n", "")),
    "circular": (r"set MaxFileSize, in MB, for example to (\d+)", "boot.ini", "Autologger/circular", lambda said: value("MaxFileSize = 0", f"MaxFileSize = {said[1]}")),
    "read-only": (r"choose a FileName on a writable volume", "boot.ini", "Autologger/read-only", lambda _: value("ro/s.etl", "writable/s.etl")),
    "same-file": (r"give each session its own FileName", "boot.ini", "Autologger/same-file", lambda _: value("good.etl", "own.etl")),
    "too-much": (r"lower BufferSize to at most (\d+) KB", "boot.ini", "Autologger/too-much", no_more_than),
    "full": (r"free some space", None, "/root/space-is-free", "touch"),
    "in-the-way": (r"move the file that is in the way", None, LOGS + "/way", "remove"),
}


def follow(machine):
    failed = machine.failed_rows().values()
    if machine.number == 1 and {row["name"] for row in failed} != set(ROWS):
        raise Failed(f"other rows failed: {sorted(row['name'] for row in failed)}")
    for row in failed:
        words, file, place, how = ROWS[row["name"]]
        said = re.search(words, row["advice"])
        if not said:
            raise Failed(f"{row['name']}: the advice does not say {words!r}: {row['advice']}")
        if not file:
            getattr(machine, how)(place)
            continue
        path = machine.folder / file
        path.write_text(in_section(path.read_text(encoding="utf-8"), place, how(said)), encoding="utf-8")
    machine.declare()
