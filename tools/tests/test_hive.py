#!/usr/bin/env python3
"""Hives of Windows, written and read by others: hivexregedit reads the output of `export` into a hive, a third reader (python3-hivex) finds the same
values in it, and `import` of this hive gives the store that was exported. A damaged hive never harms, and changes nothing.
Proves: REG-16.

Usage: test_hive.py, with AL_BINARY_DIR and AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed, 77 skipped."""
import difflib
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

BIN, SOURCE = pathlib.Path(os.environ["AL_BINARY_DIR"]).resolve(), pathlib.Path(os.environ["AL_SOURCE_DIR"]).resolve()
WMI = r"HKLM\SYSTEM\CurrentControlSet\Control\WMI"
WINEVT = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\WINEVT"
OF_EACH_TYPE = r"""Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\WMI\Autologger\all types]
"text"="a \"quoted\" C:\\path; with = and # in it, and ä€"
"a \"name\" \\ with"="x"
"empty"=""
"number"=dword:fedcba98
"bytes"=hex:00,01,02,fe,ff
"long"=hex:""" + ",".join(f"{i % 256:02x}" for i in range(3000)) + r"""
"expands"=hex(2):25,00,54,00,45,00,4d,00,50,00,25,00,00,00
"several"=hex(7):61,00,00,00,62,00,00,00,00,00
"large"=hex(b):08,07,06,05,04,03,02,01

[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\WMI\Autologger\all types\below]
"Enabled"=dword:00000001
"""


def autologger(*words, expect=0):
    r = subprocess.run([BIN / "autologger", *map(str, words)], capture_output=True, text=True, timeout=120)
    if expect is not None and r.returncode != expect:
        sys.exit(f"autologger {words}: exit {r.returncode}\n{r.stdout}{r.stderr}")
    return r


def empty_hive():
    """A hive with a root key and its security, by the published description of the format."""
    def cell(data):
        size = (len(data) + 4 + 7) & ~7
        return struct.pack("<i", -size) + data.ljust(size - 4, b"\0")
    descriptor = struct.pack("<BBHIIII", 1, 0, 0x8000, 0, 0, 0, 0)
    name = b"root"
    nk = struct.pack("<2sHQIIIIIIIIIIIIIIIHH", b"nk", 0x2C, 0, 0, 0xFFFFFFFF, 0, 0, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFF,
                     0x20 + len(cell(b"\0" * (76 + len(name)))), 0xFFFFFFFF, 0, 0, 0, 0, 0, len(name), 0) + name
    first = cell(nk)
    at = 0x20 + len(first)
    sk = struct.pack("<2sHIIII", b"sk", 0, at, at, 1, len(descriptor)) + descriptor
    cells = first + cell(sk)
    rest = 0x1000 - 0x20 - len(cells)
    block = struct.pack("<4sIIQQI", b"hbin", 0, 0x1000, 0, 0, 0) + cells + struct.pack("<i", rest).ljust(rest, b"\0")
    head = struct.pack("<4sIIQIIIIIII", b"regf", 1, 1, 0, 1, 3, 0, 1, 0x20, 0x1000, 1).ljust(508, b"\0")
    checksum = 0
    for (word,) in struct.iter_unpack("<I", head):
        checksum ^= word
    return (head + struct.pack("<I", checksum)).ljust(4096, b"\0") + block


def with_parents(body, prefix):
    """hivexregedit wants each key above a key to be named before it."""
    lines, seen = [], set()
    for line in body.split("\n"):
        if line.startswith("["):
            parts = line[1:-1][len(prefix) + 1:].split("\\")
            for n in range(1, len(parts)):
                above = "\\".join(parts[:n])
                if above.lower() not in seen:
                    lines += [f"[{prefix}\\{above}]", ""]
                    seen.add(above.lower())
            seen.add("\\".join(parts).lower())
        lines.append(line)
    return "\n".join(lines)


def plain(line):
    """hivexregedit takes the bytes of a string for Latin-1: other characters go to it as numbers."""
    if line.isascii():
        return line
    name, _, value = line.partition("\"=\"")
    data = (value[:-1].replace("\\\"", "\"").replace("\\\\", "\\") + "\0").encode("utf-16-le")
    return f"{name}\"=hex(1):" + ",".join(f"{byte:02x}" for byte in data)


def hive_of(folder, name, reg, prefix, control_set):
    """A hive with the keys of a .reg file below `prefix`, by hivexregedit."""
    hive, text = folder / f"{name}.hive", folder / f"{name}.merge"
    hive.write_bytes(empty_hive())
    data = reg.read_bytes()
    body = data.decode("utf-16" if data[:2] == b"\xff\xfe" else "utf-8").replace("CurrentControlSet", control_set).replace("\r\n", "\n")
    if control_set != "CurrentControlSet":
        body += f"\n[{prefix}\\Select]\n\"Current\"=dword:0000000{control_set[-1]}\n"
    text.write_text("\n".join(plain(line) for line in with_parents(body, prefix).split("\n")), encoding="ascii")
    r = subprocess.run(["hivexregedit", "--merge", "--prefix", prefix, "--encoding", "utf-16le", hive, text], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"hivexregedit: {r.stdout}{r.stderr}")
    return hive


def values_of(hive, *path):
    """{(key, name): (type, bytes)} below a key, by python3-hivex."""
    script = """
import hivex, json, sys
h = hivex.Hivex(sys.argv[1])
node = h.root()
for name in sys.argv[2:]:
    node = h.node_get_child(node, name)
out = []
def walk(node, key):
    for v in h.node_values(node):
        kind, data = h.value_value(v)
        out.append([key, h.value_key(v), kind, data.hex()])
    for child in h.node_children(node):
        walk(child, key + '/' + h.node_name(child))
walk(node, '')
print(json.dumps(out))
"""
    r = subprocess.run(["/usr/bin/python3", "-c", script, hive, *path], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"python3-hivex: {r.stderr}")
    return {(key.lower(), name.lower()): (kind, data) for key, name, kind, data in json.loads(r.stdout)}


def round_trip(folder, what, reg, key, prefix, control_set, path):
    """store -> .reg -> hive by hivexregedit -> import -> store; returns the hive."""
    first, second, out, back = (folder / f"{what}{suffix}" for suffix in ("-1.db", "-2.db", ".reg", "-back.reg"))
    autologger("import", "--store", first, reg)
    autologger("export", "--store", first, "--key", key, "--format", "reg16", "-o", out)
    hive = hive_of(folder, what, out, prefix, control_set)
    said = autologger("import", "--store", second, hive).stdout
    autologger("export", "--store", second, "--key", key, "--format", "reg16", "-o", back)
    if out.read_bytes() != back.read_bytes():
        lines = [x.read_text("utf-16").split("\n") for x in (out, back)]
        sys.exit(f"{what}: the store that was imported from a hive is another:\n" + "\n".join(difflib.unified_diff(*lines, "given", "back", n=0)))
    seen = values_of(hive, *path)
    count = int(said.split(" value")[0].split()[-1])
    if len(seen) != count:
        sys.exit(f"{what}: python3-hivex finds {len(seen)} values, the import {count}: {said}")
    print(f"{what}: {count} values by hivexregedit, python3-hivex and import")
    return hive


def hostile(folder, hive):
    """A name that would be more than a name in the text of a .reg changes nothing."""
    script = """
import hivex, sys
h = hivex.Hivex(sys.argv[1], write=True)
node = h.root()
for name in ('ControlSet002', 'Control', 'WMI', 'Autologger'):
    node = h.node_get_child(node, name)
if sys.argv[2] == 'key':
    h.node_add_child(node, 'x]\\n[-HKEY_LOCAL_MACHINE\\\\SOFTWARE\\\\Contoso]\\n[HKEY_LOCAL_MACHINE\\\\SOFTWARE\\\\Evil')
else:
    h.node_set_value(node, {'key': 'x"=hex:00\\n[-HKEY_LOCAL_MACHINE\\\\SOFTWARE\\\\Contoso]\\n"y', 't': 3, 'value': b'1'})
h.commit(None)
"""
    for what in ("key", "value"):
        bad, store = folder / "hostile.hive", folder / "hostile.db"
        shutil.copy(hive, bad)
        r = subprocess.run(["/usr/bin/python3", "-c", script, bad, what], capture_output=True, text=True)
        if r.returncode:
            sys.exit(f"python3-hivex: {r.stderr}")
        (folder / "contoso.reg").write_text("Windows Registry Editor Version 5.00\n\n[HKEY_LOCAL_MACHINE\\SOFTWARE\\Contoso]\n\"a\"=\"b\"\n")
        store.unlink(missing_ok=True)
        autologger("import", "--store", store, folder / "contoso.reg")
        before = autologger("export", "--store", store, "--key", "HKLM").stdout
        r = autologger("import", "--store", store, bad, expect=1)
        if "cannot be read as a hive" not in r.stderr or autologger("export", "--store", store, "--key", "HKLM").stdout != before:
            sys.exit(f"a hostile {what}: {r.stdout}{r.stderr}")
    print("hostile names: refused")


def damaged(folder, hive):
    """Cut off, and with bytes changed: an error, or what is still there; never a crash, and no half of an import."""
    random.seed(18)
    whole, outcomes = hive.read_bytes(), {}
    for number in range(150):
        data = bytearray(whole[:random.randrange(4, len(whole))] if number % 5 == 0 else whole)
        for _ in range(random.choice((1, 4, 40))):
            data[random.randrange(4, len(data))] = random.randrange(256)
        bad, store = folder / "bad.hive", folder / "bad.db"
        bad.write_bytes(data)
        store.unlink(missing_ok=True)
        r = autologger("import", "--store", store, bad, expect=None)
        if r.returncode not in (0, 1) or (r.returncode and store.exists()) or (r.returncode and not r.stderr):
            (pathlib.Path(tempfile.gettempdir()) / "bad.hive").write_bytes(data)
            sys.exit(f"a damaged hive: exit {r.returncode}\n{r.stdout}{r.stderr}")
        outcomes[r.returncode] = outcomes.get(r.returncode, 0) + 1
    print("damaged hives:", outcomes)


def main():
    if not shutil.which("hivexregedit") or subprocess.run(["/usr/bin/python3", "-c", "import hivex"], capture_output=True).returncode:
        print("skipped: hivexregedit (libwin-hivex-perl) and python3-hivex are not here")
        return 77
    with tempfile.TemporaryDirectory(prefix="autologger-hive-") as folder:
        folder = pathlib.Path(folder)
        types = folder / "types.txt.reg"
        types.write_bytes(OF_EACH_TYPE.replace("\n", "\r\n").encode("utf-16"))
        system = "HKEY_LOCAL_MACHINE\\SYSTEM"
        for what, reg, control_set in (("types", types, "ControlSet001"), ("boot", SOURCE / "tools/tests/made/boot.reg", "ControlSet002")):
            hive = round_trip(folder, what, reg, WMI, system, control_set, (control_set, "Control", "WMI"))
        store, manifest = folder / "m.db", SOURCE / "autologger/schema/tests/shop.man"
        autologger("manifest", "install", "--store", store, manifest)
        out = folder / "publishers.reg"
        autologger("export", "--store", store, "--key", WINEVT, "--format", "reg16", "-o", out)
        round_trip(folder, "software", out, WINEVT, "HKEY_LOCAL_MACHINE\\SOFTWARE", "CurrentControlSet", ("Microsoft", "Windows", "CurrentVersion", "WINEVT"))
        other = folder / "other"
        other.write_bytes(empty_hive())
        said = autologger("import", "--store", folder / "n.db", other, expect=1).stderr
        if "neither Control\\WMI nor WINEVT" not in said or (folder / "n.db").exists():
            sys.exit(said)
        hostile(folder, folder / "boot.hive")
        damaged(folder, folder / "boot.hive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
