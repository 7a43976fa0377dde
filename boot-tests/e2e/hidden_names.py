"""Names chosen by another user, with control characters (C0, DEL, C1), marks, overrides and isolates of text direction, line separators, newlines and
bytes that are no UTF-8, never reach root's terminal, the journal or a page unescaped. An unprivileged user registers providers, starts sessions and
writes events with such names, and runs programs whose files, names and arguments have them; root reads declarations and trace files with them. The
daemon refuses such names, with a reason that shows them escaped. The output of every verb that shows names, as text, as JSON and on stderr, the
daemon's own stderr, and pages are searched for the bytes; JSON must be valid, and hold the original names.
Proves: that what a terminal, the journal and a page get of another user's names are letters."""
import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
import traceback
import unicodedata
import uuid
import xml.etree.ElementTree

from harness import BUILD, Machine, check, skip

if os.geteuid():
    skip("needs root, to be another user")

BAD = 6001
FORGED = b"FORGED: everything is fine"  # the beginning of a line that only a name can have made
NAMES = [
    # C0 and DEL: titles, colours, clearing, the bell, going back
    b"a\x1b]0;pwned\x07b", b"\x1b[31mred", b"\x1b[2J\x1b[H", b"x\x1b[1A\x1b[2K", b"\x1b(0", b"\x1bc", b"\x1bP1;2q\x1b\\", b"\x1b]8;;http://a/\x1b\\l",
    b"\x1b]52;c;YQ==\x07", b"bell\x07", b"back\x08\x08\x08", b"tab\tbed", b"vt\x0b", b"ff\x0c", b"so\x0esi\x0f", b"soh\x01", b"us\x1f", b"del\x7f",
    b"can\x18sub\x1a",
    # lines of their own
    b"nl\n" + FORGED, b"cr\r" + FORGED, b"crnl\r\n" + FORGED, b"\n", b"two\n\n" + FORGED,
    # C1, in UTF-8: CSI, OSC, DCS, NEL, the first and the last
    b"\xc2\x9b31mcsi", b"\xc2\x9d0;t\xc2\x9c", b"\xc2\x90q", b"nel\xc2\x85" + FORGED, b"\xc2\x80", b"\xc2\x9f",
    # line and paragraph separator; direction
    b"ls\xe2\x80\xa8x", b"ps\xe2\x80\xa9x", b"rlo\xe2\x80\xaecod.exe", b"lro\xe2\x80\xadx", b"rle\xe2\x80\xab", b"lre\xe2\x80\xaa", b"pdf\xe2\x80\xac",
    b"lrm\xe2\x80\x8e", b"rlm\xe2\x80\x8f", b"alm\xd8\x9c", b"lri\xe2\x81\xa6x", b"rli\xe2\x81\xa7x", b"fsi\xe2\x81\xa8x", b"pdi\xe2\x81\xa9",
    # no UTF-8: a byte of C1 by itself, cut, too long, a surrogate, beyond the end
    b"raw\x9b31m", b"raw\x85nel", b"cut\xe2\x80", b"long\xc0\x9b", b"long\xe0\x80\x9b", b"half\xed\xa0\x80", b"far\xf4\x90\x80\x80", b"ff\xff\xfe",
]
FIT = ["plain", "gr\u00fc\u00df", "\u65e5\u672c\u8a9e", "\u0646\u0627\u0645", "a\u200db", "%s%n%n", "\U0001f600"]
HIDDEN = set(range(0x20)) - {0x0A} | set(range(0x7F, 0xA0)) | {0x61C, 0x200E, 0x200F} | set(range(0x2028, 0x202F)) | set(range(0x2066, 0x2070))
PROVIDER = "{5ec3e700-7e57-0001-8000-0000000000%02x}"
assert len(NAMES) >= 40 and len(set(NAMES)) == len(NAMES)
searched = 0


# ---- the search ----

def clean(what, raw, tabs=False):
    """`raw`: the output. tabs: this form has tabs of its own."""
    global searched
    searched += 1
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        check(False, what, "is not UTF-8:", error, raw[max(0, error.start - 60):error.end + 20])
    for at, c in enumerate(text):
        if ord(c) in HIDDEN and not (c == "\t" and tabs):
            check(False, what, f"has U+{ord(c):04X} {unicodedata.name(c, '')}:", repr(text[max(0, at - 80):at + 40]))
    check(not re.search(rb"^\W*FORGED", raw, re.M), what, "has a line that a name made:", raw[:2000])
    return text


def looked_at(m, *args, user=None, codes=(0, 1)):
    """Runs the tool and searches its outputs; returns them."""
    who = {"user": user, "group": user, "extra_groups": []} if user else {}
    r = subprocess.run([os.path.join(BUILD, "autologger"), *args], capture_output=True, env=m.env, timeout=120, **who)
    check(r.returncode in codes, args, "-> exit", r.returncode, r.stdout[-1000:], r.stderr[-1000:])
    what = b"autologger " + b" ".join(os.fsencode(a) for a in args)
    out = r.stdout.replace(b"\r\n", b"\n") if "csv" in args else r.stdout
    return clean(what + b", stdout", out, "xml" in args), clean(what + b", stderr", r.stderr)


def looked_at_json(m, *args, lines=False):
    out, _ = looked_at(m, *args)
    return [json.loads(line) for line in out.split("\n") if line] if lines else json.loads(out)


# ---- a client of the control socket ----

HELLO, REGISTER, QUERY, STOP, START = 1, 2, 16, 17, 28
TRAITS = 2  # status of REGISTER: traits of an existing registration; not answered
OK, WRONG, BAD_NAME = 0, 87, 123
IN_PROC, BUFFERING = 0x20000, 0x400
HEAD = 8 + 4 * 4 + 2 * 8 + 20 + 2  # of a sealed snapshot


class Client:
    def __init__(self, runtime):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(20)
        self.s.connect(os.path.join(runtime, "control"))
        self.ask(HELLO, struct.pack("<HHIQ", 1, 0, 0, 0))

    def send(self, kind, body, sequence=7, status=0):
        self.s.send(struct.pack("<IHHII", 16 + len(body), kind, 1, sequence, status) + body)

    def ask(self, kind, body, status=0):
        """(status, body) of the answer."""
        self.send(kind, body, status=status)
        while True:
            m, fds, _, _ = socket.recv_fds(self.s, 65536, 8)
            for fd in fds:
                os.close(fd)
            check(m, "the daemon closed the connection")
            _, got, _, sequence, st = struct.unpack_from("<IHHII", m)
            if got == kind and sequence == 7:
                return st, m[16:]

    def register(self, guid, index, name, more=0):
        traits = b"" if name is None else struct.pack("<H", 3 + len(name)) + name + b"\0"
        body = uuid.UUID(guid).bytes_le + struct.pack("<II", index, len(traits)) + traits
        return self.send(REGISTER, body, 8, more) if more else self.ask(REGISTER, body)[0]

    def start(self, name, file=None, friendly=None):
        sealed = declaration(name, file, friendly)
        st, body = self.ask(START, struct.pack("<II", len(sealed), 0) + sealed)
        return st, body[:4096].split(b"\0")[0]

    def named(self, kind, name):
        return self.ask(kind, name.ljust(256, b"\0") + struct.pack("<II", 0, 0))[0]


def declaration(name, file, friendly):
    """A sealed snapshot of one private session, as registry-sim/store/snapshot_format.h has it, with names that none of our tools would write."""
    def text(value):  # to UTF-16; bytes that are no UTF-8 become half a surrogate
        return value.decode("utf-8", "surrogateescape").encode("utf-16-le", "surrogatepass") + b"\0\0"

    def value(name, kind, data):
        return name.encode() + b"\0" + struct.pack("<IBII", kind, 0, 0, len(data)) + data

    def key(name, values, below):
        return (name + b"\0" + struct.pack("<QBIII", 0, 0, 0, len(values), len(below)) + b"".join(values) + b"".join(b for b, _, _ in below),
                1 + sum(k for _, k, _ in below), len(values) + sum(v for _, _, v in below))

    own = [value("Enabled", 4, struct.pack("<I", 1)), value("EnableLevel", 4, struct.pack("<I", 5))]
    if friendly is not None:
        own.append(value("ProviderFriendlyName", 1, text(friendly)))
    values = [value("Guid", 1, text(b"{%s}" % str(uuid.uuid4()).encode())), value("LogFileMode", 4, struct.pack("<I", IN_PROC | (BUFFERING if file is None else 0))),
              value("Start", 4, struct.pack("<I", 1))]
    if file is not None:
        values.insert(0, value("FileName", 1, text(file)))
    k = key(name, values, [key((PROVIDER % 0xFF).encode(), sorted(own, key=lambda v: v.upper()), [])])
    for above in reversed([b"", b"HKEY_LOCAL_MACHINE", b"SYSTEM", b"ControlSet001", b"Control", b"WMI", b"Autologger"]):
        k = key(above, [], [k])
    body, keys, count = k
    head = b"ALSNAP\x1a\n" + struct.pack("<IIIIQQ", 1, HEAD + len(body) + 20, keys, count, 0, 0) + b"\0" * 20 + b"\0\0"
    return head + body + hashlib.sha1(head + body).digest()


class Other:
    """function(*args) in a process of the other user, which never runs this test's own cleanup; its result comes as JSON."""

    def __init__(self, function, *args):
        read, write = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            "".encode("utf-16-le")  # loads the codec while Python's own files can be read
            try:
                os.setgroups([])
                os.setgid(BAD)
                os.setuid(BAD)
                answer = json.dumps(function(*args)).encode()
                while answer:
                    answer = answer[os.write(write, answer):]
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(write)
        self.pipe = open(read, "rb")

    def answer(self):
        with self.pipe as f:
            text = f.read()
        check(os.waitpid(self.pid, 0)[1] == 0, "the other user's process failed")
        return json.loads(text)


def letters(name):
    """Whether the daemon may accept `name`."""
    try:
        return not any(ord(c) in HIDDEN or c == "\n" for c in name.decode("utf-8"))
    except UnicodeDecodeError:
        return False


# ---- at the socket ----

def take_names(runtime):
    """The result for each name, for each way to give one: [how, name in hex, status, reason in hex]."""
    c, told = Client(runtime), []
    for i, name in enumerate(NAMES + [n.encode() for n in FIT]):
        def tell(how, st, why=b"", given=name):
            told.append([how, given.hex(), st, why.hex()])
        tell("provider", c.register(PROVIDER % i, i + 1, name))
        tell("session", *c.start(name))
        tell("file", *c.start(b"f%d" % i, file=name + b".etl"))
        tell("friendly", *c.start(b"n%d" % i, friendly=name))
        c.named(STOP, b"n%d" % i)  # a user may have only four sessions
        tell("query", c.named(QUERY, name))
        later = 500 + i
        c.register(PROVIDER % (0x80 + i), later, None)
        c.register(PROVIDER % (0x80 + i), later, name, more=TRAITS)
    c.named(QUERY, b"the last answer: what came before was read")
    while not os.path.exists(os.path.join(runtime, "..", "seen")):
        time.sleep(0.02)
    return told


def at_the_socket(m):
    other = Other(take_names, m.runtime)
    end = time.time() + 20
    while time.time() < end and FIT[-1] not in json.dumps(looked_at_json(m, "providers", "--registered", "--json"), ensure_ascii=False):
        time.sleep(0.1)
    time.sleep(1)
    shown = looked_at_json(m, "providers", "--registered", "--json")
    text = json.dumps(shown, ensure_ascii=False)
    for args in (["sessions"], ["sessions", "--json"], ["providers", "--registered"], ["providers"], ["query", "good"], ["query", "good", "--json"],
                 []):
        looked_at(m, *args)
    open(os.path.join(m.dir, "seen"), "w").close()
    told = other.answer()
    check(len(told) == 5 * (len(NAMES) + len(FIT)), len(told))
    for how, name, st, why in told:
        name = bytes.fromhex(name)
        clean(f"the answer to {how} {name!r}", bytes.fromhex(why))
        wanted = {"provider": BAD_NAME, "session": WRONG, "file": BAD_NAME, "friendly": OK}
        if how in wanted and not letters(name):
            refused = 13 if how == "session" and b"\\" in name else wanted[how]  # a key's name has no backslash: malformed
            check(st == refused, how, name, "-> Status", st, bytes.fromhex(why))
            check(how != "session" or st == 13 or b"\\" in bytes.fromhex(why), "the reason shows the name escaped", bytes.fromhex(why))
        elif how == "provider":
            check(st == OK, how, name, "-> Status", st)
    for name in FIT:
        check(f'"{name}"' in text, "a name of letters is taken:", name, text[:3000])


# ---- names from the kernel and from events, which cannot be refused ----

def programs(m):
    """Programs of the other user, each with a name as its file, its comm and its argument."""
    folder = os.path.join(m.dir, "user")
    os.mkdir(folder)
    os.chown(folder, BAD, BAD)
    sleep = os.path.join(folder, "sleep")
    shutil.copy("/bin/sleep", sleep)
    os.chmod(sleep, 0o755)
    for i, name in enumerate(NAMES):
        path = os.path.join(os.fsencode(folder), b"%d" % i + name.replace(b"/", b"_"))
        os.link(sleep, path)
        p = subprocess.run([b"argv " + name, b"0.02" if i else b"0.3"], executable=path, user=BAD, group=BAD, extra_groups=[], capture_output=True)
        check(p.returncode == 0, path, p)


def events(m):
    """Events, their fields and values; of a provider with a valid name, as others are refused."""
    for name in NAMES:
        subprocess.run([os.path.join(BUILD, "autologger"), "write", "Contoso-Web", b"event " + name, b"field " + name.replace(b"=", b"_") + b"=value " + name],
                       env=m.env, user=BAD, group=BAD, extra_groups=[], capture_output=True)


def pages(m, trace):
    path = os.path.join(m.dir, "boot.html")
    looked_at(m, "report", trace, "-o", path)
    with open(path, "rb") as f:
        raw = f.read()
    text = clean("the page of a boot", re.sub(rb"<script>.*?</script>", b"", raw, flags=re.S))
    data = gzip.decompress(base64.b64decode(re.search(r'<script type="application/gzip;base64" id="data">([^<]*)', text).group(1)))
    clean("the page's data", data)
    found = []

    def strings(x):
        if isinstance(x, str):
            found.append(x)
        for y in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
            strings(y)
    strings(json.loads(data))
    for x in found:
        clean("a text of the page", x.encode())
    check(any("\\u001b" in x.lower() for x in found) and any("\\u202e" in x for x in found), "the page has none of the names: nothing was proved")


def files(m, trace):
    """The files that tracerpt and convert write for people and for terminals."""
    for name, args, tabs in (("d.csv", ["tracerpt", trace, "-of", "CSV", "-o"], False), ("d.xml", ["tracerpt", trace, "-o"], True),
                             ("s.txt", ["tracerpt", trace, "-summary"], True), ("w.html", ["tracerpt", trace, "-f", "HTML", "-report"], False),
                             ("w.xml", ["tracerpt", trace, "-report"], False), ("c.json", ["convert", trace, "--to", "chrome", "-o"], False)):
        path = os.path.join(m.dir, name)
        looked_at(m, *args, path)
        with open(path, "rb") as f:
            text = clean(name, f.read().replace(b"\r\n", b"\n"), tabs)
        if name.endswith("xml"):
            xml.etree.ElementTree.fromstring(text)
        if name.endswith("json"):
            json.loads(text)


def traces(m):
    k, p = os.path.join(m.logs, "k.etl"), os.path.join(m.logs, "p.etl")
    shown = looked_at(m, "dump", k)[0]
    check("\\u202ecod.exe" in shown and "\\u009b31mcsi" in shown, "the trace has none of the names")
    shown = looked_at(m, "dump", p)[0]
    check(shown.count("Contoso-Web/") >= len(NAMES) - 10, "the events are not there", shown[:2000])
    for trace in (k, p):
        for args in (["dump", "--symbols", trace], ["dump", "--format", "csv", trace], ["summary", trace], ["analyse", "stats", trace],
                     ["analyse", "state", trace, "--at", "0.2"], ["analyse", "images", trace], ["analyse", "activity", trace], ["analyse", "losses", trace],
                     ["report", trace]):
            looked_at(m, *args)
        for args in (["summary", trace, "--json"], ["analyse", "stats", trace, "--json"], ["analyse", "images", trace, "--json"],
                     ["analyse", "losses", trace, "--json"], ["report", trace, "--json"]):
            looked_at_json(m, *args)
    rows = looked_at_json(m, "dump", "--json", k, lines=True) + looked_at_json(m, "dump", "--json", p, lines=True)
    text = json.dumps(rows, ensure_ascii=False)
    for name in NAMES:  # JSON is not cut: decoded, it gives the name, even where its bytes differ
        if not name.isascii() and b"\xc2" not in name and b"\xe2\x80" not in name:
            continue
        check(json.dumps(name.decode("utf-8", "replace"), ensure_ascii=False)[1:-1] in text, "not in JSON:", name)
    for form in ("xml", "csv"):
        out, _ = looked_at(m, "dump", "--format", form, k)
        if form == "xml":
            xml.etree.ElementTree.fromstring(out)
    files(m, k)
    pages(m, k)


def declared(m):
    """Another user's declarations that root reads, by every verb that reads one; and words on the command line."""
    for i, name in enumerate(NAMES):
        if b"\n" in name or b"\r" in name:
            text = name.replace(b"\n", b"_").replace(b"\r", b"_")
        else:
            text = name
        path = os.path.join(m.dir, f"d{i}.ini")
        with open(path, "wb") as f:
            f.write(b"[Autologger/s" + text.replace(b"]", b"_").replace(b"/", b"_") + b"]\nFileName = " + text + b".etl\nBuffer" + text.replace(b"=", b"_") + b" = 3\n"
                    b"[Autologger/t/" + text.replace(b"]", b"_").replace(b"/", b"_") + b"]\nLevel = " + text + b"\n")
        looked_at(m, "check", path, codes=(0, 1, 100, 111))
        looked_at(m, "import", "--store", m.store + ".other", path, codes=(0, 1, 100, 111))
        if i % 4 == 0:
            looked_at(m, "check", "--json", path, codes=(0, 1, 100, 111))
            looked_at(m, "start", "-c", path, codes=(0, 1, 100, 111))
        for words in (["query", name], ["stop", name], ["flush", name], ["providers", name], ["dump", name], ["report", name], [name], ["--" + "x", name]):
            looked_at(m, *words, codes=(1, 100, 111) if words[0] != "providers" else (0, 1, 100))


def results(m):
    rows, _ = looked_at(m, "status", "--store", m.store)
    check("\\u001b[31mred" in rows, "the session does not say that a provider of it was refused:", rows)
    for args in (["status", "--wide", "--store", m.store], ["status", "--store", m.store], ["boots", "--store", m.store]):
        looked_at(m, *args, codes=(0, 1))
        looked_at(m, *args, "--json", codes=(0, 1))


journal = os.path.join("/tmp", f"autologger-hidden-names-{os.getpid()}")
try:
    with Machine(f"[Autologger/good]\nFileName = good.etl\n[Autologger/good/{PROVIDER % 1}]\n") as m, open(journal, "wb") as f:
        os.chmod(m.dir, 0o755)
        kept = os.dup(2)
        os.dup2(f.fileno(), 2)
        m.start_keeper()
        os.dup2(kept, 2)
        m.wait_ready()
        m.tool("start", "k", "-o", "k.etl", "--flags", "PROC_THREAD+LOADER", "--set", "MaximumBuffers=64", "--set", "BufferSize=1024KB")
        m.tool("start", "p", "-o", "p.etl", "--provider", "Contoso-Web")
        programs(m)
        events(m)
        m.tool("stop", "p")
        m.tool("stop", "k")
        at_the_socket(m)
        traces(m)
        declared(m)
        m.shutdown()
        results(m)
        with open(journal, "rb") as said:
            clean("the daemon's stderr", said.read())
finally:
    os.unlink(journal)
print(f"{len(NAMES)} names, {searched} outputs searched")
