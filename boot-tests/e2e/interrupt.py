"""A rehearsal that is interrupted, killed, doubled or meets foreign files: it ends in order, leaves no process and no file behind, and destroys
nothing."""
import json
import os
import signal
import subprocess
import tempfile
import time

from harness import BUILD, check, tool

DECLARED = "[Autologger/one]\nFileName = one.etl\n[Autologger/two]\nFileName = two.etl\n"


def wait_started(p, folder):
    end, own = time.time() + 30, os.path.join(folder, "own")
    for line in p.stdout:
        if line.count("started:") and "sleep" in line:
            while not os.path.exists(own) or not os.path.getsize(own):
                check(time.time() < end, "the program that notes the runtime folder did not run")
                time.sleep(0.02)
            return
    check(False, "the rehearsal ended before its programs were started")


def leftovers(marker):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line and int(pid) != os.getpid():
            found.append(line)
    return found


def note(folder):
    """A program of a rehearsal that notes its runtime folder: other rehearsals run at the same time, with folders of their own."""
    return "--run", f'echo "$AUTOLOGGER_RUNTIME_DIR" >> {folder}/own'


def runtime_folders(folder):
    with open(os.path.join(folder, "own")) as f:
        own = f.read().split()
    check(own, "no rehearsal had a runtime folder")
    return [d for d in own if os.path.exists(d)]


def start(folder, *extra):
    declared = os.path.join(folder, "declared.ini")
    with open(declared, "w") as f:
        f.write(DECLARED)
    out = os.path.join(folder, "out")
    return out, subprocess.Popen([os.path.join(BUILD, "autologger"), "rehearse", declared, "--out", out, *note(folder), *extra],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_gone(folder, seconds=15):
    end = time.time() + seconds
    while time.time() < end and (leftovers(folder) or runtime_folders(folder)):
        time.sleep(0.1)
    check(not leftovers(folder), "still running:", leftovers(folder))
    check(not runtime_folders(folder), "left behind:", runtime_folders(folder))


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
    with tempfile.TemporaryDirectory(prefix="autologger-interrupt-") as folder:
        out, p = start(folder, "--for", "60", "--run", f"sleep 60 # {folder}")
        wait_started(p, folder)
        time.sleep(0.2)
        p.send_signal(number)
        text, _ = p.communicate(timeout=30)
        wait_gone(folder)
        if number != signal.SIGKILL:
            check(p.returncode == 1 and "interrupted" in text, number, p.returncode, text)
            check(os.path.exists(text.splitlines()[-1].removeprefix("trace: ")), text)
        else:
            for name in ("one.etl", "two.etl"):  # complete files that only lack a merge
                tool("summary", os.path.join(out, name))
        print(number.name, "ok")

with tempfile.TemporaryDirectory(prefix="autologger-interrupt-") as folder:
    out, p = start(folder, "--run", f"sleep 3 # {folder}")
    wait_started(p, folder)
    second = tool("rehearse", os.path.join(folder, "declared.ini"), "--out", out, "--run", "true", expect=None)
    check(second.returncode in (1, 111) and "another rehearsal" in second.stderr + second.stdout, second.stdout, second.stderr)
    text, _ = p.communicate(timeout=30)
    check(p.returncode == 0, "the first rehearsal was disturbed:", text)
    # a foreign store in the folder is left alone, and so is any file that is not ours
    with open(os.path.join(out, "registry.db"), "w") as f:
        f.write("precious")
    with open(os.path.join(out, "one.etl"), "w") as f:
        f.write("precious")
    r = tool("rehearse", os.path.join(folder, "declared.ini"), "--out", out, *note(folder), "--run", "true", "--json", expect=1)
    answer = json.loads(r.stdout)
    rows = {s["name"]: s for s in answer["sessions"]}
    check(rows["one"]["status"] == 183 and rows["two"]["status"] == 0, rows)
    check(os.path.exists(answer["trace"]), answer)
    for name in ("registry.db", "one.etl"):
        with open(os.path.join(out, name)) as f:
            check(f.read() == "precious", name, "was destroyed")
    wait_gone(folder)
print("doubled and foreign files ok")
