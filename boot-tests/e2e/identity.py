"""The identity of mapped files: the build id of a mapped file, and names from it, where the path now leads to another file, to none, or to a file
that only the process saw (a mount namespace); of programs that run already, that start in the session, and that end at once;
position independent or not; their FileVersion events, as text, too. Proves: MRG-03, MRG-04, CTL-11, CON-21."""
import json
import os
import platform
import shutil
import subprocess
import time

from harness import SOURCE, Machine, check, skip, tool

if os.getuid() != 0:
    skip("kernel events need root")
if platform.machine() != "x86_64" or not shutil.which("g++"):
    skip("the programs need x86-64 and g++")
DECLARED = """[GlobalLogger]
EnableKernelFlags  = PROC_THREAD+LOADER+PROFILE
StackWalkingFilter = Profile
BufferSize         = 512 KB
MinimumBuffers     = 16
MaximumBuffers     = 128
FileName           = C:\\t_km_premerge.etl
"""
ALWAYS = "100000"  # rounds: until it is killed


def build(path, variant, *flags):
    subprocess.run(["g++", "-O0", f"-DVARIANT={variant}", "-Wl,--build-id", "-pthread", *flags, "-o", path,
                    os.path.join(SOURCE, "boot-tests", "call_chain.cpp")], check=True)
    out = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return out.split("Build ID: ")[1].split()[0]


with Machine() as m:
    kept = os.path.join(m.dir, "kept")
    os.mkdir(kept)
    ids = {name: build(os.path.join(kept, name), i, *flags) for i, (name, flags) in enumerate(
        {"replaced": (), "deleted": (), "hidden": (), "fixed": ("-no-pie",), "first": (), "second": (), "other": ()}.items())}
    check(len(set(ids.values())) == len(ids), "build ids are not all different:", ids)

    def put(name, as_name=None):
        path = os.path.join(m.dir, as_name or name)
        shutil.copy(os.path.join(kept, name), path + ".new")
        os.rename(path + ".new", path)
        return path

    def started(command):
        p = subprocess.Popen(command)
        m.processes.append(p)
        return p

    # these run before the session: its rundown must tell the mapped files, not those at the paths
    replaced, deleted = started([put("replaced"), ALWAYS]), started([put("deleted"), ALWAYS])
    time.sleep(0.3)
    put("other", "replaced")
    os.unlink(os.path.join(m.dir, "deleted"))
    # these start in it: one in a mount namespace, where the path is another file than here; two end and are replaced at once
    hidden, quick = put("other", "hidden"), os.path.join(m.dir, "quick")
    script = os.path.join(m.dir, "run.sh")
    with open(script, "w") as f:
        f.write(f"""set -e
unshare --mount sh -c 'mount --bind {kept}/hidden {hidden} && exec {hidden} 100' &
{put("fixed")} 100 &
cp {kept}/first {quick}; {quick} 1; rm {quick}
cp {kept}/second {quick}; {quick} 1; rm {quick}
wait
""")
    declared, out = os.path.join(m.dir, "t.ini"), os.path.join(m.dir, "out")
    with open(declared, "w") as f:
        f.write(DECLARED)
    r = tool("rehearse", declared, "--out", out, "--json", "--run", f"sh {script}", expect=None)
    trace = json.loads(r.stdout)["merged"]
    check(trace, "nothing was merged:", r.stdout, r.stderr)

    events = [json.loads(x) for x in tool("dump", "--json", "--provider", "Image", "--provider", "ImageID",
                                          "--provider", "Autologger-Kernel-Names", trace).stdout.splitlines()]
    full = {}  # the build id's part in an Image event -> the whole build id
    for e in events:
        if e["event"] == "BuildId":
            full[e["fields"]["TimeDateStamp"], e["fields"]["ImageCheckSum"]] = e["fields"]["BuildId"]
    sets = {(e["raw"], e["cpu"]) for e in events if e["event"] == "DbgID_RSDS"}
    seen = {}  # (file name, pid) -> build id
    for e in events:
        name = e["fields"].get("FileName", "").split("\\")[-1].removesuffix(" (deleted)")
        if e["provider"].get("name") == "Image" and name in (*ids, "quick"):
            check((e["raw"], e["cpu"]) in sets, "no identity before", e["fields"])
            seen[name, e["fields"]["ProcessId"]] = full.get((e["fields"]["TimeDateStamp"], e["fields"]["ImageCheckSum"]))
    print({k: v and v[:8] for k, v in seen.items()})
    check(seen.get(("replaced", replaced.pid)) == ids["replaced"], "the replaced file:", seen, ids)
    check(seen.get(("deleted", deleted.pid)) == ids["deleted"], "the deleted file:", seen, ids)
    for name in ("hidden", "fixed"):
        check(ids[name] in [i for (n, _), i in seen.items() if n == name], name + ":", seen, ids)
    check({ids["first"], ids["second"]} <= {i for (n, _), i in seen.items() if n == "quick"}, "the quick ones:", seen, ids)
    check(ids["other"] not in seen.values(), "a file that nobody ran:", seen, ids)

    # FileVersion: name, path, version and contents of each file, once; in the text of the dump, too. Another program's file may have two sizes:
    # whole, and as mapped by a process whose view of the file ended with it.
    versions = [e["fields"] for e in events if e["event"] == "FileVersion"]
    by_id = {f["FileId"]: f for f in versions if f["FileId"]}
    once = {(f["FileId"], f["ImageSize"], f["TimeDateStamp"]) for f in versions}
    check(len(once) == len(versions), "a file's version is there twice:", versions)
    for name, file_id in ids.items():
        check(sum(f["FileId"] == file_id for f in versions) == (name != "other"), "versions of", name, [f for f in versions if f["FileId"] == file_id])
    for name in ("replaced", "deleted", "hidden", "fixed", "first", "second"):
        f = by_id.get(ids[name])
        path = os.path.join(m.dir, "quick" if name in ("first", "second") else name)
        check(f and (f["OrigFileName"], f["FileDescription"], f["FileVersion"]) == (os.path.basename(path), path, ""), name, path, f)
    with open("/proc/self/maps") as maps:
        libc = next(line.split()[5] for line in maps if "/libc.so." in line)
    notes = subprocess.run(["readelf", "-n", libc], capture_output=True, text=True, check=True).stdout.split("Build ID: ")[1].split()[0]
    check(by_id.get(notes, {}).get("FileVersion") == libc.rpartition(".so.")[2] and by_id[notes]["FileDescription"] == libc, libc, by_id.get(notes))
    kernel = [f for f in versions if f["OrigFileName"].startswith("vmlinux-")]
    check([f["FileVersion"] for f in kernel] == [os.uname().release], "the kernel's release", kernel)
    text = tool("dump", "--provider", "ImageID", trace).stdout.splitlines()
    section = [line for line in text if " ImageID/FileVersion " in line]
    check(len(section) == len(versions) and any(f"FileDescription={libc} FileVersion={libc.rpartition('.so.')[2]} " in line for line in section), section[:3])

    # every image of these processes is the whole file, libraries too, also when the process ended before it was looked up
    ours, sizes = {p for _, p in seen}, {}
    for e in events:
        f = e["fields"]
        if e["provider"].get("name") == "Image" and f["ImageCheckSum"] != "0x0" and f["ProcessId"] in ours:
            sizes.setdefault((f["FileName"], f["TimeDateStamp"], f["ImageCheckSum"]), set()).add(f["ImageSize"])
    whole = by_id[notes]["ImageSize"]
    check([v for k, v in sizes.items() if k[0].endswith(os.path.basename(libc))] == [{hex(whole)}], "the C library is", sizes, "not of", whole)
    check(not [k for k, v in sizes.items() if len(v) > 1], "images that are a part of their file:", sizes)

    # names, from the saved files
    lines = tool("dump", "--symbols", "--json", "--symbol-path", kept, "--provider", "StackWalk", trace).stdout.splitlines()
    spins = {}
    for e in map(json.loads, lines[:-1]):
        if [f.get("function") for f in e["frames"][:2]] == ["chain::spin(int)", "chain::middle(void (*)(int), int)"]:
            spins[e["fields"]["StackProcess"]] = spins.get(e["fields"]["StackProcess"], 0) + 1
    pids = {replaced.pid: "replaced", deleted.pid: "deleted", **{p: n for n, p in seen if n in ("hidden", "fixed")}}
    # a folder is searched by the mapped file's name: a file with a path of its own is found by build id or name
    print({pids[p]: n for p, n in spins.items() if p in pids})
    for name in ("replaced", "deleted", "hidden", "fixed"):
        check(any(pids.get(p) == name for p in spins), "no named stack of the program that is", name, spins, pids)
