"""The samples of docs/examples, each built by the line in its own head, in a folder that has only what is installed, and run in a session: what was
written is decoded and compared; the consumer reads the file, and a live session until it ends.
Proves: LEG-13, API-02."""
import json
import os
import re
import shutil
import subprocess
import time

from harness import BUILD, SOURCE, Machine, check, skip

if "asan" in BUILD or "tsan" in BUILD:
    skip("a sanitized library can't be linked to a plain program")
EXAMPLES = os.path.join(SOURCE, "docs", "examples")
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]


def build(m, name, compiler=None):
    """By the first line of its head that begins with a compiler; a compiler of the caller's takes the place of cc or c++."""
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as f:
        text = f.read()
    line = re.search(r"(?m)^[ /*]+(\S*(?:cc|c\+\+|rustc) .*)$", text)[1]
    made = re.findall(r"(?m)^[ /*]+(build/release/autologger .*)$", text)
    words = line.split()
    if compiler:
        words = [compiler, *STRICT, *words[1:]]
    if not shutil.which(words[0]):
        return None
    folder = os.path.join(m.dir, f"{name}-{words[0]}")
    os.makedirs(os.path.join(folder, "build"))
    os.makedirs(os.path.join(folder, "autologger"))
    os.symlink(os.path.join(SOURCE, "docs"), os.path.join(folder, "docs"))
    os.symlink(os.path.join(SOURCE, "autologger", "include"), os.path.join(folder, "autologger", "include"))
    os.symlink(BUILD, os.path.join(folder, "build", "release"))
    for command in made:
        r = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        check(r.returncode == 0, command, r.stderr)
    r = subprocess.run([w.replace("$PWD", folder) for w in words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    check(r.returncode == 0, " ".join(words), r.stderr)
    return os.path.join(folder, words[-1])


def traced(m, session, guid, program, *more, flags=""):
    m.tool("start", session, "--output", session + ".etl", "--provider", guid + ":5" + flags)
    r = subprocess.run([program, "4"], env=m.env, capture_output=True, text=True, timeout=60, check=False)
    check(r.returncode == 0, program, r.stderr)
    m.tool("stop", session)
    path = os.path.join(m.logs, session + ".etl")
    events = [json.loads(line) for line in m.tool("dump", path, "--json", *more).stdout.splitlines()]
    return path, [e for e in events if e["provider"]["guid"] == guid]


def c(m):
    for compiler in ("gcc", "clang"):
        path, events = traced(m, "c-" + compiler, "{c0e50001-5a3b-4f61-8a11-223344556601}", build(m, "provider.c", compiler))
        check([(e["event"], e["level"], e["fields"]) for e in events] == [("Request", 4, {"number": i, "url": "/index"}) for i in range(4)], events)
    return path


def wpp(m):
    """The header is made by the line before the compiler's; the program itself says what its messages mean."""
    expected = [text for i in range(4) for text in (f"serve: request {i} for /index, state Open", f"{12.5 * i:.1f} % of the cache is used")]
    for compiler in ("gcc", "clang"):
        program = build(m, "wpp.c", compiler)
        path, _ = traced(m, "wpp-" + compiler, "{c0e50004-5a3b-4f61-8a11-223344556604}", program, flags=":0xFFFFFFFF")
        events = [json.loads(line) for line in m.tool("dump", path, "--json", "--manifest", program).stdout.splitlines()]
        check([e["message"] for e in events if "message" in e] == expected, events)


def classic(m):
    """By the class's description in a file, then installed."""
    mof = os.path.join(EXAMPLES, "classic.mof")
    expected = [("Transfer", "End" if i % 2 else "Start", {"Number": i, "Bytes": "0x1000", "Way": "Download", "Url": "/index"}) for i in range(4)]
    for compiler in ("gcc", "clang"):
        path, _ = traced(m, "classic-" + compiler, "{c0e50005-5a3b-4f61-8a11-223344556605}", build(m, "classic.c", compiler))
        for more in (["--manifest", mof], []):
            if not more:
                m.tool("manifest", "install", "--store", m.store, mof)
            events = [json.loads(line) for line in m.tool("dump", path, "--json", *more).stdout.splitlines()]
            check([(e["provider"]["name"], e["event"], e["fields"]) for e in events if e["provider"]["guid"].startswith("{c0e5")] == expected, events)
        merged = os.path.join(m.logs, f"merged-{compiler}.etl")
        m.tool("merge", path, "--output", merged)
        m.tool("manifest", "uninstall", "--store", m.store, mof)
        events = [json.loads(line) for line in m.tool("dump", merged, "--json").stdout.splitlines()]
        check([(e["provider"]["name"], e["event"], e["fields"]) for e in events if e["provider"]["guid"].startswith("{c0e5")] == expected, "merged:", events)


def cpp(m):
    for compiler in ("g++", "clang++"):
        _, events = traced(m, "cpp-" + compiler.replace("+", "p"), "{c0e50002-5a3b-4f61-8a11-223344556602}", build(m, "provider.cpp", compiler))
        check([e["fields"] for e in events[::2]] == [{"number": i, "url": f"/page/{i}"} for i in range(4)], events)
        check([(e["event"], e["opcode"]) for e in events] == [("Request", 1), ("Request", 2)] * 4, events)
        check(all(a["activity"] == b["activity"] for a, b in zip(events[::2], events[1::2])) and len({e["activity"] for e in events}) == 4, "activities")


def rust(m):
    program = build(m, "provider.rs")
    if not program:
        print("no rustc here: the sample in Rust was not built")
        return
    _, events = traced(m, "rust", "{c0e50003-5a3b-4f61-8a11-223344556603}", program, "--manifest", os.path.join(EXAMPLES, "sample.man"))
    check([(e["id"], e["event"], e["keyword"], e["fields"]) for e in events] == [(7, "Request", "0x1", {"number": i, "url": "/index"}) for i in range(4)], events)


def consumer(m, path):
    for compiler in ("gcc", "clang"):
        program = build(m, "consumer.c", compiler)
        r = subprocess.run([program, path], env=m.env, capture_output=True, text=True, timeout=60, check=False)
        lines = r.stdout.splitlines()
        check(r.returncode == 0 and sum(line.startswith("c0e50001 event 0 of process") for line in lines) == 4 and lines[-1] == f"{len(lines) - 1} events", r.stdout, r.stderr)
        r = subprocess.run([program, "/nowhere.etl"], env=m.env, capture_output=True, text=True, timeout=60, check=False)
        check(r.returncode == 1 and "OpenTrace: error" in r.stderr, r)
    m.tool("start", "live", "--real-time", "--provider", "{c0e50001-5a3b-4f61-8a11-223344556601}:5")
    watching = subprocess.Popen([program, "--live", "live"], env=m.env, stdout=subprocess.PIPE, text=True)
    subprocess.run([os.path.join(m.dir, "provider.c-gcc", "provider"), "50"], env=m.env, check=True)
    got = [watching.stdout.readline() for _ in range(50)]
    check(all(line.startswith("c0e50001 event 0 of process") for line in got), got)
    time.sleep(0.1)
    m.tool("stop", "live")
    check(watching.wait(20) == 0 and "50 events" in watching.stdout.read(), "the end of the session is its end")


with Machine() as machine:
    machine.env["AUTOLOGGER_PUBLISHERS"] = os.path.join(machine.dir, "publishers")
    machine.start()
    written = c(machine)
    wpp(machine)
    classic(machine)
    cpp(machine)
    rust(machine)
    consumer(machine, written)
    print("providers in C, C++17 and Rust, of WPP and of the older API, and a consumer of both kinds")
