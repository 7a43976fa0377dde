"""merge, relog, convert and tracerpt, run by root, have given up their rights when they open the trace: shown by the kernel's report of the process,
and by system calls made in it there, as code that had taken it over would make them. They can write, remove or rename no file, neither below the
result's folder nor through a link that leads out of it; open no socket; send no signal. The requested output is made all the same. A killed one
leaves nothing.
Proves: finding F12."""
import errno
import os
import shutil
import signal
import subprocess
import tempfile
import time

from harness import BUILD, check, skip
from inside import AT_FDCWD, POSSIBLE, Inside

if os.getuid() != 0:
    skip("needs root, whose rights are given up")
if not POSSIBLE:
    skip("calls are made in another process on x86-64 alone")
KEPT = 1 << 2 | 1 << 34  # CAP_DAC_READ_SEARCH, CAP_SYSLOG
NOBODY = 65534
TRACE = os.path.join(BUILD, "made", "kernel.etl")


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return {k: v.split() for k, v in (line.split(":", 1) for line in f if ":" in line)}


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


class Place:
    """The result's folder, with files that must not change: one of root's, one of another user's, and a link that leads out."""

    def __init__(self, parent):
        self.parent = parent
        self.dir = os.path.join(parent, "results")
        self.out, self.more, self.kept, self.secret, self.link, self.outside = (
            os.path.join(self.dir, name) for name in ("out", "more", "kept", "secret", "link", "../outside"))
        os.mkdir(self.dir)
        os.mkdir(self.outside)
        os.symlink("../outside", self.link)
        for path in (self.kept, self.secret):
            with open(path, "w", encoding="ascii") as f:
                f.write("kept")
            os.chmod(path, 0o600)
        os.chown(self.secret, NOBODY, NOBODY)

    def has(self):
        """The other files, after the protected ones were checked."""
        for path in (self.kept, self.secret):
            with open(path, encoding="ascii") as f:
                check(f.read() == "kept" and os.stat(path).st_mode & 0o777 == 0o600, path, "was changed")
        check(os.listdir(self.outside) == [] and os.path.islink(self.link), "something was made outside")
        check(sorted(os.listdir(self.parent)) == ["outside", "results"], os.listdir(self.parent))
        return sorted(set(os.listdir(self.dir)) - {"kept", "secret", "link"})


def no_rights(verb, pid):
    s = status(pid)
    print(verb, {k: s[k] for k in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")})
    for name in ("CapPrm", "CapEff"):
        check(int(s[name][0], 16) & ~KEPT == 0, verb, "has", name, s[name])
    check(int(s["CapBnd"][0], 16) == 0 and s["NoNewPrivs"] == ["1"] and s["Seccomp"] == ["2"], verb, s["CapBnd"], s["NoNewPrivs"], s["Seccomp"])


def nothing_else(verb, x, place, bystander):
    new = os.O_WRONLY | os.O_CREAT
    tries = [("openat", AT_FDCWD, os.path.join(place.dir, "unwanted"), new, 0o600), ("open", os.path.join(place.dir, "unwanted"), new, 0o600),
             ("openat", AT_FDCWD, place.kept, os.O_WRONLY, 0), ("openat", AT_FDCWD, place.kept, os.O_RDONLY | os.O_TRUNC, 0),
             ("openat", AT_FDCWD, os.path.join(place.link, "unwanted"), new, 0o600), ("openat", AT_FDCWD, "/etc/al-unwanted", new, 0o600),
             ("unlink", place.kept), ("rename", place.kept, place.out), ("mkdir", os.path.join(place.dir, "unwanted"), 0o700),
             ("symlink", "/", os.path.join(place.dir, "unwanted")), ("chmod", place.kept, 0o777), ("socket", 2, 1, 0), ("socket", 1, 1, 0),
             ("kill", bystander.pid, signal.SIGKILL), ("kill", os.getpid(), 0), ("setuid", NOBODY)]
    done = []
    for name, *arguments in tries:
        r = x.call(name, *arguments)
        if -r not in (errno.EPERM, errno.EACCES):
            done.append((name, arguments, r))
    if os.path.exists("/etc/al-unwanted"):
        os.unlink("/etc/al-unwanted")
    check(not done, verb, "could do what it was not called for:", done)
    check(bystander.poll() is None, "a process was ended")
    check(x.call("openat", AT_FDCWD, place.secret, os.O_RDONLY, 0) >= 0, verb, "can't read the file of another user any more")


def one(verb, words, made):
    with tempfile.TemporaryDirectory(prefix="autologger-test-") as parent:
        place = Place(parent)
        bystander = subprocess.Popen(["sleep", "60"])
        try:
            with Inside([os.path.join(BUILD, "autologger"), *(w.format(out=place.out, more=place.more) for w in words)],
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as x:
                check(x.until_open(TRACE), verb, "ended without having opened the trace:", x.program.returncode)
                no_rights(verb, x.pid)
                nothing_else(verb, x, place, bystander)
                check(x.go_on() == 0, verb, "exit code", x.program.returncode)
        finally:
            bystander.kill()
            bystander.wait()
        check(place.has() == sorted(made), verb, "made", place.has())
        for name in made:
            check(os.path.isdir(os.path.join(place.dir, name)) or os.path.getsize(os.path.join(place.dir, name)) > 100, name, "has no content")


def users_are_asked_for_before():
    """Users are looked up first where their names are replaced: the lookup may need a service, over a socket."""
    for words in (["merge", TRACE], ["relog", TRACE], ["convert", TRACE, "--to", "folded"]):
        with tempfile.TemporaryDirectory(prefix="autologger-test-") as folder:
            with Inside([os.path.join(BUILD, "autologger"), *words, "--redact=names", "-o", os.path.join(folder, "out")], stdout=subprocess.DEVNULL) as x:
                check(x.until_open("/etc/passwd"), words[0], "asks for no users")
                check(status(x.pid)["Seccomp"] == ["0"], words[0], "asks for users without the right to ask a service")
                check(x.go_on() == 0, words[0], x.program.returncode)


def killed():
    """Killed at some moment while the result is written under its temporary name."""
    for words in (["merge", TRACE, "-o", "{out}"], ["convert", TRACE, "--to", "perfetto", "-o", "{out}"]):
        with tempfile.TemporaryDirectory(prefix="autologger-test-") as parent:
            place = Place(parent)
            with Inside([os.path.join(BUILD, "autologger"), *(w.format(out=place.out) for w in words)], stdout=subprocess.DEVNULL) as x:
                while not place.has():
                    check(x.next_call() is not None, words[0], "never had a temporary file")
                check(place.has() != ["out"], place.has())
                helpers = children(x.pid)
                check(len(helpers) == 1, words[0], "helpers:", helpers)
            end = time.time() + 10
            while (place.has() or os.path.exists(f"/proc/{helpers[0]}/exe")) and time.time() < end:
                time.sleep(0.01)
            check(place.has() == [], words[0], "left", place.has())
            check(not os.path.exists(f"/proc/{helpers[0]}/exe"), "the helper still runs")


def same_as_with_rights():
    """The results equal those of a user who has no rights to give up."""
    with tempfile.TemporaryDirectory(prefix="autologger-test-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        shutil.copy(TRACE, os.path.join(folder, "in.etl"))
        os.chmod(os.path.join(folder, "in.etl"), 0o644)
        for words in (["convert", "in.etl", "--to", "perfetto", "--no-symbols", "-o"], ["convert", "in.etl", "--to", "folded", "--no-symbols", "-o"],
                      ["tracerpt", "in.etl", "-summary"], ["tracerpt", "in.etl", "-of", "CSV", "-o"]):
            results = []
            for name, user in (("root", None), ("user", NOBODY)):
                r = subprocess.run([os.path.join(BUILD, "autologger"), *words, name], cwd=folder, user=user, group=user,
                                   extra_groups=None if user is None else [], capture_output=True, text=True, timeout=60)
                check(r.returncode == 0, words, name, r.returncode, r.stderr)
                with open(os.path.join(folder, name), "rb") as f:
                    results.append(f.read())
                os.unlink(os.path.join(folder, name))
            check(results[0] == results[1] and len(results[0]) > 100, words, "differs:", [len(x) for x in results])


one("merge", ["merge", TRACE, "-o", "{out}"], ["out"])
one("merge", ["merge", TRACE, "-o", "{out}", "--redact"], ["out"])
one("relog", ["relog", TRACE, "-o", "{out}", "--compress"], ["out"])
for form in ("perfetto", "chrome", "folded", "ctf"):
    one("convert", ["convert", TRACE, "--to", form, "-o", "{out}"], ["out"])
one("convert", ["convert", TRACE, "--to", "folded", "-o", "-"], [])
one("tracerpt", ["tracerpt", TRACE, "-o", "{out}", "-summary", "{more}"], ["more", "out"])
one("tracerpt", ["tracerpt", TRACE, "-report", "{out}", "-f", "HTML"], ["out"])
users_are_asked_for_before()
killed()
same_as_with_rights()
