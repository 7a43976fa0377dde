#!/usr/bin/env python3
"""Runs one case of the command: a file of "Key: value" lines.

Usage: run_case.py FILE.case, with AL_BINARY_DIR and AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed, 77 skipped.

  Proves:      ids of the checklist
  File NAME:   a line of the file NAME in the work folder (repeat for more lines; \\xNN are bytes); its folders are made, and a file
               that begins with #! is a program
  Before:      a command line that must succeed first (repeat)
  Run:         the command line under test; one a case
  Exit:        its exit code
  Out:  Err:   text that its standard output / error has (repeat; each after the one before)
  NotOut: NotErr:  text that it has not
  Json:        PATH = VALUE: standard output is JSON, and PATH (a.b.0.c) has that value
  Makes: NoFile:   a file that is there / is not there afterwards
  Same:        A B: two files with the same bytes
  Needs:       root | data (the foreign files of AUTOLOGGER_DATA, in cases whose name begins with foreign-) | heap (the library that the verb
               "heap" preloads, which no build with a sanitizer has): else the case is skipped

In command lines @bin@ is the build folder, @src@ the source, @made@ the traces of tools/dev/make_traces.c, @data@ the foreign files;
"autologger" is the built command.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

MANY = {"Before", "Out", "Err", "NotOut", "NotErr", "Json", "Makes", "NoFile", "Same"}
ONE = {"Proves", "Run", "Exit", "Needs"}


class Failed(Exception):
    pass


def read_case(path):
    case, files = {key: [] for key in MANY}, {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if key.startswith("File "):
            raw = value.encode().decode("unicode_escape").encode("latin-1") if "\\x" in value else value.encode()
            files.setdefault(key[5:], []).append(raw)
        elif colon and key in MANY:
            case[key].append(value)
        elif colon and key in ONE and key not in case:
            case[key] = value
        else:
            sys.exit(f"{path}:{number}: unknown or repeated key {key!r}")
    for key in ("Proves", "Run", "Exit"):
        if key not in case:
            sys.exit(f"{path}: no {key}:")
    return case, files


def data_folder(source):
    folder = pathlib.Path(os.environ.get("AUTOLOGGER_DATA") or source.parent / "shared" / "data")
    return folder if (folder / "etl").is_dir() else None


def command(line, places):
    for name, place in places.items():
        line = line.replace(f"@{name}@", str(place))
    words = shlex.split(line)
    if words and words[0] == "autologger":
        words[0] = str(places["bin"] / "autologger")
    return words


def run(line, places, work):
    env = {**os.environ, "AUTOLOGGER_RUNTIME_DIR": str(work / "runtime"), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command(line, places), cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=110)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def expect_in_order(what, text, parts):
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            raise Failed(f"{what} does not have {part!r}" + (" after what comes before it" if part in text else ""))
        at = found + len(part)


def expect_json(text, wanted):
    path, _, value = wanted.partition(" = ")
    try:
        node = json.loads(text)
        for part in path.split("."):
            node = node[int(part)] if isinstance(node, list) else node[part]
    except (ValueError, LookupError, TypeError) as error:
        raise Failed(f"no JSON with {path}: {error!r}") from error
    if node != json.loads(value):
        raise Failed(f"{path} is {node!r}, not {value}")


def expect_files(case, work):
    for name in case["Makes"]:
        if not (work / name).is_file():
            raise Failed(f"there is no file {name}")
    for name in case["NoFile"]:
        if (work / name).exists():
            raise Failed(f"there is a file {name}")
    for pair in case["Same"]:
        first, second = (work / name for name in pair.split())
        if first.read_bytes() != second.read_bytes():
            raise Failed(f"{pair}: the files differ")


def check(case, work, places):
    for line in case["Before"]:
        code, out, err = run(line, places, work)
        if code:
            raise Failed(f"{line}: exit code {code}\n{out}{err}")
    code, out, err = run(case["Run"], places, work)
    try:
        if code != int(case["Exit"]):
            raise Failed(f"exit code {code}, not {case['Exit']}")
        expect_in_order("standard output", out, case["Out"])
        expect_in_order("standard error", err, case["Err"])
        for what, text, parts in (("output", out, case["NotOut"]), ("error", err, case["NotErr"])):
            for part in parts:
                if part in text:
                    raise Failed(f"standard {what} has {part!r}")
        for wanted in case["Json"]:
            expect_json(out, wanted)
        expect_files(case, work)
    except Failed as failure:
        raise Failed(f"{failure}\n---- standard output\n{out}---- standard error\n{err}----") from failure


def main():
    path = pathlib.Path(sys.argv[1])
    case, files = read_case(path)
    source = pathlib.Path(os.environ["AL_SOURCE_DIR"])
    places = {"bin": pathlib.Path(os.environ["AL_BINARY_DIR"]), "src": source, "data": data_folder(source)}
    places["made"] = places["bin"] / "made"
    if (case.get("Needs") == "data") != path.name.startswith("foreign-"):
        sys.exit(f"{path}: cases with foreign files, and they alone, have names that begin with foreign-")
    if case.get("Needs") == "data" and not places["data"]:
        print("skipped: the foreign files are not here (AUTOLOGGER_DATA)")
        return 77
    if case.get("Needs") == "heap" and not (places["bin"] / "libautologger-heap.so").exists():
        print("skipped: there is no library of heap events in this build")
        return 77
    if case.get("Needs") == "root" and os.geteuid() != 0:
        print("skipped: needs root")
        return 77
    with tempfile.TemporaryDirectory(prefix="al-case-") as folder:
        work = pathlib.Path(folder)
        for name, lines in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(b"\n".join(lines) + b"\n")
            if lines[0].startswith(b"#!"):
                (work / name).chmod(0o755)
        try:
            check(case, work, {**places, "work": work})
        except (Failed, subprocess.TimeoutExpired) as failure:
            print(f"{path.name}: {failure}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
