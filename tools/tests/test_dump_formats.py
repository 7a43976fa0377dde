#!/usr/bin/env python3
"""Every format of "autologger dump" has the same content: the same events, the same fields with the same values; the XML is valid by the shipped
schema, the CSV has the same number of columns in each row. Over the seeds of the reader's fuzzer and the traces of tools/dev/make_traces.c; with
--foreign over files that are no part of the project (AUTOLOGGER_DATA), else skipped.
Proves: CON-08, CON-11, CON-12. Exit codes: 0 passed, 1 failed, 77 skipped."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

SOURCE, BINARY = (pathlib.Path(os.environ[name]) for name in ("AL_SOURCE_DIR", "AL_BINARY_DIR"))
DATA = pathlib.Path(os.environ.get("AUTOLOGGER_DATA") or SOURCE.parent / "shared" / "data") / "etl"
EVENT = "{http://schemas.microsoft.com/win/2004/08/events/event}"
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def dump(path, form):
    r = subprocess.run([BINARY / "autologger", "dump", "--format", form, path], capture_output=True, timeout=60)
    if r.returncode not in (0, 1):  # 1: damage, which the seeds have
        sys.exit(f"{path}: --format {form}: exit code {r.returncode}: {r.stderr.decode()}")
    return r.stdout


def same(field, value, text):
    if isinstance(value, list):
        return ",".join(value) == text
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, (int, float)):
        return float(int(text, 16) if text.startswith("0x") else text) == float(value)
    if value.startswith("0x") and text.startswith("0x"):
        return value.lower() == text.lower()
    return NOT_XML.sub("\ufffd", value) == text


def check_xml(path, events):
    text = dump(path, "xml")
    lint = subprocess.run(["xmllint", "--noout", "--schema", SOURCE / "config" / "schema" / "events.xsd", "-"], input=text, capture_output=True)
    assert lint.returncode == 0, lint.stderr.decode()[:2000]
    rows = tree.fromstring(text).findall(EVENT + "Event")
    assert len(rows) == len(events), (len(rows), len(events))
    for row, event in zip(rows, events):
        system = row.find(EVENT + "System")
        assert system.find(EVENT + "TimeCreated").get("SystemTime") == event["time"]
        assert int(system.find(EVENT + "EventID").text) == event["id"] and int(system.find(EVENT + "Opcode").text) == event["opcode"]
        kind = {"ok": "EventData", "unknown": "BinaryEventData", "mismatch": "ProcessingErrorData"}[event["decoded"]]
        body = row.find(EVENT + kind)
        assert body is not None, (kind, event)
        if kind != "EventData":
            continue
        data = [(d.get("Name"), d.text or "") for d in body]
        assert len(data) == len(event["fields"]), (data, event["fields"])
        for (name, text), (path_, value) in zip(data, event["fields"].items()):
            assert path_.startswith(name.split("\ufffd")[0]) and same(name, value, text), (name, text, path_, value)


def check_csv(path, events):
    text = dump(path, "csv").decode()
    assert text.endswith("\r\n")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    head, rows = rows[0], rows[1:]
    assert len(head) == 20 and head[0] == "Event Name" and head[-1] == "User Data", head
    assert len(rows) == len(events), (len(rows), len(events))
    for row, event in zip(rows, events):
        assert len(row) == 20, row
        assert int(row[2]) == event["id"] and int(row[8], 16) == int(event["keyword"], 16) and int(row[11]) == event["cpu"], (row, event)
        assert all(" " + name + "=" in " " + row[19] for name in event["fields"] if re.fullmatch(r"[\w.\[\]]+", name)), (row, event)


def main():
    if "--foreign" in sys.argv:
        files = sorted(DATA.glob("*.etl"))
        if not files:
            print(f"skipped: no traces in {DATA} (AUTOLOGGER_DATA)")
            sys.exit(77)
    else:
        files = sorted((SOURCE / "autologger" / "consumer" / "tests" / "corpus" / "fuzz_etl").glob("*.etl"))
        files += sorted((BINARY / "made").glob("*.etl"))
    total = 0
    for path in files:
        if subprocess.run([BINARY / "autologger", "dump", path], capture_output=True).returncode == 111:
            continue  # a seed that is no trace
        events = [json.loads(line) for line in dump(path, "json").splitlines()]
        try:
            # a line each: no value contains a line break
            assert len(dump(path, "text").splitlines()) == len(events)
            check_xml(path, events)
            check_csv(path, events)
        except AssertionError as e:
            sys.exit(f"{path}: {e}")
        total += len(events)
    assert total > 1000, total
    print(f"{total} events of {len(files)} files in four formats")


main()
