"""Twenty secrets are planted where programs leave them (command lines, variables, names of users and hosts, addresses, paths); none of them is in
anything that leaves the machine with --redact: a merge, a relog, all forms of convert, a bundle, and dumps of these. A secret has the same token
everywhere in one result; all else is unchanged: as many events, the same times, the same kinds.
Proves: issue 5 "relog and redact". """
import collections
import glob
import json
import os
import subprocess
import sys
import tarfile

from harness import Machine, check, skip, tool

if os.getuid() != 0:
    skip("kernel events need root")
ARGUMENTS = ["--password=hunter2secret", "s3cr3tArgument", "--api-key", "AKIA9911PLANTED", "plain.argument.planted"]
VARIABLES = ["PLANTED_TOKEN=tok-77aa-planted", "password: pass-88bb-planted", "db_password='quoted planted'"]
USERS = ["mallorysmith", "gr\u00fcnbergplanted"]
HOSTS = ["plantedhost77", "db.planted.example"]
ADDRESSES = ["203.0.113.77", "2001:db8:77::1234", "198.51.100.9:8443", "52:54:00:aa:77:01"]
PATHS = ["/srv/planted-project/ledger-77.db", "/home/mallorysmith/planted-notes.txt"]
# what must not be found; a path in parts
SECRETS = ["hunter2secret", "s3cr3tArgument", "AKIA9911PLANTED", "plain.argument.planted", "tok-77aa-planted", "pass-88bb-planted", "quoted planted",
           "mallorysmith", "gr\u00fcnbergplanted", "plantedhost77", "db.planted.example", "203.0.113.77", "2001:db8:77::1234", "198.51.100.9",
           "52:54:00:aa:77:01", "planted-project", "ledger-77.db", "planted-notes.txt", "fd77:77::99", "10.77.66.55"]
DECLARED = """[GlobalLogger]
EnableKernelFlags  = PROC_THREAD+FILENAME
BufferSize         = 256 KB
MaximumBuffers     = 128
FileName           = C:\\t_km_premerge.etl
[Autologger/web]
FileName = C:\\web_um_premerge.etl
[Autologger/web/Contoso-Web]
"""
PROGRAM = """import os, subprocess, sys
write, folder = sys.argv[1], sys.argv[2]
def say(*fields):
    subprocess.run([write, "write", "Contoso-Web", "Note", *fields], check=True)
say("UserName=mallorysmith", "HostName=plantedhost77", "Text=connected by mallorysmith@db.planted.example from 203.0.113.77 and 2001:db8:77::1234")
say("Text=PLANTED_TOKEN=tok-77aa-planted and password: pass-88bb-planted db_password='quoted planted'")
say("Text=peer 198.51.100.9:8443 [fd77:77::99]:80 (10.77.66.55) card 52:54:00:aa:77:01 https://db.planted.example/x")
say("Text=the argument AKIA9911PLANTED and s3cr3tArgument stand here, hunter2secret too; plantedhost77 is up", "Number=4711")
say("Text=/home/gr\u00fcnbergplanted/x is of gr\u00fcnbergplanted", "Owner=gr\u00fcnbergplanted")
say("Text=opened /srv/planted-project/ledger-77.db and /home/mallorysmith/planted-notes.txt")
for _ in range(2):
    subprocess.run(["/bin/true", "--password=hunter2secret", "s3cr3tArgument", "--api-key", "AKIA9911PLANTED", "plain.argument.planted"], check=True)
os.makedirs(folder + "/planted-project")
for i in range(2):
    open(folder + "/planted-project/ledger-77.db", "a").write("x")
"""


def clean(data, where, but=()):
    for secret in SECRETS:
        for form in (secret.encode(), secret.encode("utf-16-le"), secret.upper().encode()):
            check(secret in but or form not in data, repr(secret), "is in", where)


def all_secrets(data):
    return {s for s in SECRETS if s.encode() in data or s.encode("utf-16-le") in data}


def shape(trace):
    """What must not change: times, kinds and numbers of events."""
    events = [json.loads(x) for x in tool("dump", "--json", trace).stdout.splitlines()]
    return [(e["raw"], e["provider"].get("guid"), e["event"], e["pid"], e["tid"]) for e in events[1:]], events


with Machine() as m:
    declared, out, program = (os.path.join(m.dir, x) for x in ("t.ini", "out", "use.py"))
    open(declared, "w").write(DECLARED)
    open(program, "w").write(PROGRAM)
    command = os.path.join(os.environ["AL_BINARY_DIR"], "autologger")
    r = tool("rehearse", declared, "--out", out, "--json", "--keep-premerge", "--run", f"{sys.executable} {program} {command} {m.dir}", expect=None)
    merged = json.loads(r.stdout)["merged"]
    check(merged, "nothing was merged:", r.stdout, r.stderr)
    planted = all_secrets(open(merged, "rb").read())
    check(len(SECRETS) == 20 and planted == set(SECRETS), "planted, and not in the trace:", set(SECRETS) - planted)
    parts = sorted(glob.glob(os.path.join(os.path.dirname(merged), "*premerge.etl")))
    check(len(parts) == 2, parts)
    made = os.path.join(m.dir, "made")
    os.mkdir(made)

    def result(name):
        return os.path.join(made, name)

    given = json.loads(tool("merge", "--redact=all", "-o", result("merged.etl"), *parts, "--json").stdout)
    check(all(given["redacted"][k] > 0 for k in ("arguments", "names", "addresses", "environment", "paths")), given["redacted"])
    tool("relog", "--redact=all", "-o", result("relog.etl"), merged)
    for form, name in (("perfetto", "t.pftrace"), ("chrome", "t.json"), ("ctf", "ctf"), ("folded", "t.folded")):
        tool("convert", merged, "--to", form, "-o", result(name), "--redact=all", expect=None)
    store = [f for f in os.listdir(out) if f.endswith(".db")][0]
    tool("bundle", "--redact=all", "--store", os.path.join(out, store), "-o", result("bundle.tar"), expect=None)
    with tarfile.open(result("bundle.tar")) as tar:
        check(any(x.name.endswith(".etl") for x in tar.getmembers()), [x.name for x in tar.getmembers()])
        tar.extractall(result("bundle"), filter="data") if sys.version_info >= (3, 12) else tar.extractall(result("bundle"))
    for trace in ("merged.etl", "relog.etl"):
        for form in ("text", "json", "xml", "csv"):
            open(result(f"{trace}.{form}"), "w").write(tool("dump", "--format", form, result(trace)).stdout)
    looked = 0
    for folder, _, files in os.walk(made):
        for name in files:
            looked += 1
            clean(open(os.path.join(folder, name), "rb").read(), name)
    print(looked, "files, none of", len(SECRETS), "secrets in them")
    check(looked > 15, looked)
    check(os.stat(result("relog.etl")).st_mode & 0o777 == 0o640, "the mode")

    before, events = shape(merged)
    after, redacted = shape(result("relog.etl"))
    check(before == after, "relog changed more than texts")
    # one secret, one token: equal texts have equal tokens
    tokens = collections.defaultdict(set)
    for a, b in zip(events, redacted):
        for name in ("UserName", "HostName", "Owner", "ImageFileName"):
            if a["fields"].get(name):
                tokens[a["fields"][name]].add(b["fields"][name])
        if a["event"] == "Note" and "Number" in a["fields"]:
            check(b["fields"]["Number"] == 4711, b)
    check(tokens["mallorysmith"] and all(len(t) == 1 for t in tokens.values()), "tokens", {k: v for k, v in tokens.items() if len(v) != 1})
    texts = collections.defaultdict(list)
    for text, token in tokens.items():
        texts[next(iter(token))].append(text)
    # a token is as long as its text: there are few different short tokens
    double = {k: v for k, v in texts.items() if len(k) >= 8 and len(v) > 1}
    check(not double and any(len(k) >= 8 for k in texts), "two texts have one token", double)
    # paths stay unless their redaction is requested, but for the names of users in them
    tool("relog", "--redact", "-o", result("usual.etl"), merged)
    clean(open(result("usual.etl"), "rb").read(), "usual.etl", but=("planted-project", "ledger-77.db", "planted-notes.txt"))
    check("ledger-77.db" in tool("dump", result("usual.etl")).stdout, "paths were not asked for")
    # a relog that filters
    tool("relog", merged, "-p", "Contoso-Web", "-o", result("part.etl"))
    part, _ = shape(result("part.etl"))
    check(part == [e for e in before if e[2] == "Note"] and len(part) == 6, len(part))
    tool("relog", merged, "--exclude", "Process", "-o", result("rest.etl"))
    rest, _ = shape(result("rest.etl"))
    check(rest == [e for e, whole in zip(before, events[1:]) if whole["provider"].get("name") != "Process"], len(rest), len(before))
