"""Twelve different mistakes in a configuration, each rehearsed for real: each has its own Status, its own reason, file and line, and an advice; once
the advice is followed, the next boot gives Status 0.
Proves: REG-09, KRN-19, SEC-10, API-29."""
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import BUILD, check, each, skip, tool

if os.getuid() != 0:
    skip("read-only and full file systems need root to be made")
if os.environ.get("AL_OWN_MOUNTS") != "1":  # mounts end with this process
    env = dict(os.environ, AL_OWN_MOUNTS="1")
    sys.exit(subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, __file__], env=env).returncode)

REG = "Windows Registry Editor Version 5.00\r\n\r\n"
WMI = "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI"
GUID = "{1a15901b-0686-4433-955f-2ee7f9c61cfc}"

def in_text(old, new):
    return lambda text, advice, place: text.replace(old, new)


def add_the_guid(text, advice, place):
    return text + re.search(r'add ("Guid"="[^"]+")', advice)[1] + "\r\n"


def lower_buffer_size(text, advice, place):
    most = int(re.search(r"lower BufferSize to at most (\d+) KB", advice)[1])
    head, _, last = text.rpartition("BufferSize = 16 MB")
    return f"{head}BufferSize = {most} KB{last}"


def free_space(text, advice, place):
    subprocess.run(["mount", "-o", "remount,size=200m", place + "/full"], check=True)
    os.unlink(place + "/full/rest")
    return text


def move_the_file(text, advice, place):
    os.rename(place + "/way", place + "/moved")
    return text


def nothing(text, advice, place):
    return text


# name, suffix, text, session, status, part of the reason, line, options; part of the advice, how it is followed
TABLE = [
    ("missing Guid", "reg", f"{REG}[{WMI}\\Autologger\\s]\r\n\"Start\"=dword:1\r\n", "s", 87, "Guid", 3, {},
     'add "Guid"=', add_the_guid),
    ("wrong type", "reg", f"{REG}[{WMI}\\Autologger\\s]\r\n\"Start\"=dword:1\r\n\"Guid\"=\"{GUID}\"\r\n\"BufferSize\"=\"64\"\r\n", "s", 87,
     "BufferSize", 6, {}, "dword:00000040", in_text('"BufferSize"="64"', '"BufferSize"=dword:00000040')),
    ("NT Kernel Logger twice", "ini", "[GlobalLogger]\nEnableKernelFlags = PROC_THREAD\n[Autologger/NT Kernel Logger]\nBufferSize = 64\n",
     "NT Kernel Logger", 183, "already", 3, {}, "give each session a name", in_text("Autologger/NT Kernel Logger", "Autologger/other")),
    ("one Guid twice", "ini", f"[Autologger/a]\nGuid = {GUID}\n[Autologger/b]\nGuid = {GUID}\n", "b", 183, GUID, 3, {},
     "a GUID of its own", in_text(f"[Autologger/b]\nGuid = {GUID}\n", "[Autologger/b]\n")),
    ("NEWFILE", "ini", "[Autologger/s]\nLogFileMode = NEWFILE\nMaxFileSize = 5\n", "s", 87, "NEWFILE", 2, {},
     "remove NEWFILE", in_text("LogFileMode = NEWFILE\n", "")),
    ("circular without size", "ini", "[Autologger/s]\nLogFileMode = CIRCULAR\nMaxFileSize = 0\n", "s", 87, "MaxFileSize", 2, {},
     "set MaxFileSize, in MB, for example to 100", in_text("MaxFileSize = 0", "MaxFileSize = 100")),
    ("unknown flag", "ini", "[Autologger/good]\nBufferSize = 64\n[GlobalLogger]\nEnableKernelFlags = PROC_THREAD+CSWICH\n", "GlobalLogger", 87,
     "CSWICH", 4, {}, "", in_text("CSWICH", "CSWITCH")),
    ("read-only mount", "ini", "[Autologger/s]\nFileName = ro/s.etl\n", "s", 19, "ro/s.etl", 1, {"ro": True},
     "a FileName on a writable volume", in_text("ro/s.etl", "rw/s.etl")),
    ("full disk", "ini", "[Autologger/s]\nFileName = full/s.etl\n", "s", 112, "full/s.etl", 1, {"full": True},
     "free some space", free_space),
    ("a file in the way", "ini", "[Autologger/s]\nFileName = way/s.etl\n", "s", 267, "way/s.etl", 1, {"file": True},
     "move the file that is in the way", move_the_file),
    # each leaves a quarter of the free memory to its successors: for the last one it is not enough
    ("no memory left", "ini", "".join(f"[Autologger/{n}]\nBufferSize = 16 MB\nMinimumBuffers = 900\n" for n in "abcdefghijkl"), "l", 8, "",
     35, {}, "lower BufferSize", lower_buffer_size),
    ("no rights", "ini", "[GlobalLogger]\nEnableKernelFlags = PROC_THREAD\n", "NT Kernel Logger", 1314, "CAP_PERFMON", 1, {"nobody": True},
     "run as root", nothing),
]


def prepare(out, options):
    os.makedirs(out)
    if options.get("ro"):
        os.mkdir(out + "/ro")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", out + "/ro"], check=True)
    if options.get("full"):
        os.mkdir(out + "/full")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", out + "/full"], check=True)
        with open(out + "/full/rest", "wb") as f:
            try:
                f.write(b"\0" * (2 << 20))
            except OSError:
                pass
    if options.get("file"):
        with open(out + "/way", "w") as f:
            f.write("not a folder")


def rehearse(declared, out, folder, nobody):
    """Exit code and sessions of a rehearsal."""
    command = [os.path.join(BUILD, "autologger"), "rehearse", declared, "--out", out, "--run", "true", "--json"]
    env = dict(os.environ)
    if nobody:
        os.chmod(folder, 0o777)
        os.chmod(out, 0o777)
        env["XDG_RUNTIME_DIR"] = folder
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", *command]
    r = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    return r.returncode, json.loads(r.stdout)["sessions"], r.stderr


def declare(path, text):
    with open(path, "w", newline="") as f:
        f.write(text)


def run(name, suffix, text, session, status, reason, line, options, advice, follow):
    with tempfile.TemporaryDirectory(prefix="autologger-mistake-") as folder:
        declared = os.path.join(folder, "declared." + suffix)
        out = os.path.join(folder, "out")
        declare(declared, text)
        prepare(out, options)
        try:
            code, sessions, errors = rehearse(declared, out, folder, options.get("nobody"))
            check(code == 1, name, ": exit", code, errors)
            rows = [s for s in sessions if s["name"] == session and s["status"] == status]
            check(rows, name, ": no row", session, "with Status", status, [(s["name"], s["status"], s["reason"]) for s in sessions])
            row = rows[0]
            check(reason in row["reason"] and len(row["reason"]) > 10, name, ": reason", row["reason"])
            check(row["file"] == declared and row["line"] == line, name, ": place", row["file"], row["line"])
            check(row["advice"] and advice in row["advice"], name, ": advice", row["advice"])
            print(f"{name}: {status}, line {line}: {row['reason']}. Do: {row['advice']}")
            # follows the advice
            declare(declared, follow(text, row["advice"], out))
            code, sessions, errors = rehearse(declared, out, folder, False)
            wrong = [(s["name"], s["status"], s["reason"]) for s in sessions if s["status"]]
            if name == "no memory left":  # each session that does not fit has an advice of its own; one of them was followed
                wrong = [x for x in wrong if x[0] == session]
            check(sessions and not wrong, name, ": after the advice", wrong, errors)
        finally:
            for mounted in ("ro", "full"):
                if options.get(mounted):
                    subprocess.run(["umount", os.path.join(out, mounted)], check=True)


each(run, TABLE)
check(len({mistake[0] for mistake in TABLE}) == 12, "twelve different mistakes")
