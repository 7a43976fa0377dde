#!/usr/bin/env python3
"""Another reader of .reg files, Python's configparser, finds the same keys and values in the output of `export` as in the imported file.
Proves: REG-16.

Usage: test_reg_reader.py, with AL_BINARY_DIR and AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed."""
import configparser
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BIN, SOURCE = pathlib.Path(os.environ["AL_BINARY_DIR"]).resolve(), pathlib.Path(os.environ["AL_SOURCE_DIR"]).resolve()
OF_EACH_TYPE = r"""Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\SOFTWARE\Contoso]
"text"="a \"quoted\" C:\\path; with = and # in it"
"empty"=""
"number"=dword:fedcba98
"bytes"=hex:00,01,02,fe,ff
"nothing"=hex:
"long"=hex:""" + ",".join(f"{i:02x}" for i in range(90)) + r"""
"expands"=hex(2):25,00,54,00,45,00,4d,00,50,00,25,00,00,00
"several"=hex(7):61,00,00,00,62,00,00,00,00,00
"large"=hex(b):08,07,06,05,04,03,02,01
"none"=hex(0):41

[HKEY_LOCAL_MACHINE\SOFTWARE\Contoso\below]
"""


def read(path):
    """{key: {name: data}}, by configparser; continued lines are joined."""
    text = path.read_bytes().decode("utf-16" if path.read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    head, _, body = text.replace("\r\n", "\n").partition("\n")
    if head != "Windows Registry Editor Version 5.00":
        sys.exit(f"{path}: begins with {head!r}")
    parser = configparser.RawConfigParser(delimiters=("=",), comment_prefixes=(";",), strict=True)
    parser.optionxform = str
    parser.read_string(re.sub(r"\\\n\s*", "", body))
    return {section.upper(): dict(parser.items(section)) for section in parser.sections()}


def with_values(keys):
    """Without the keys that hold only subkeys."""
    return {key: values for key, values in keys.items() if values}


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="autologger-reg-") as folder:
        folder = pathlib.Path(folder)
        own = folder / "types.reg"
        own.write_bytes(OF_EACH_TYPE.replace("\n", "\r\n").encode("utf-16"))
        wmi = r"HKLM\SYSTEM\CurrentControlSet\Control\WMI"
        for path, format, key in ((own, "reg", "HKLM"), (own, "reg16", "HKLM"), (SOURCE / "tools/tests/made/boot.reg", "reg16", wmi)):
            store, back = folder / f"{path.stem}-{format}.db", folder / f"{path.stem}-{format}.reg"
            for words in (("import", str(path)), ("export", "--key", key, "--format", format, "-o", str(back))):
                done = subprocess.run([BIN / "autologger", words[0], "--store", store, *words[1:]], capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"{words}: {done.stderr}")
            given, got = with_values(read(path)), with_values(read(back))
            wrong = [(key, name, values.get(name), got.get(key, {}).get(name)) for key, values in given.items() for name in values
                     if values[name] != got.get(key, {}).get(name)]
            more = [key for key in got if key not in given]
            print(f"{path.name} as {format}: {sum(map(len, given.values()))} values in {len(given)} keys, different: {wrong}, more: {more}")
            failed += bool(wrong or more or not given)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
