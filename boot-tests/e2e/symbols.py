"""Names: a known chain of calls, in order, in the stacks of Profile, CSwitch and ReadyThread; kernel names on a machine without this one's kernel
symbols; a file that was removed or replaced is reported with its build id, and found by it elsewhere; shares of named frames as perf has them. A
trace made without LOADER says that it knows no modules, and why.
Proves: CON-21, CON-22, MRG-03, KRN-04, and issue 4 "stacks: a known call chain, names and order", "share of named frames at least
that of perf report", "kernel frames at least 98 %"."""
import collections
import json
import os
import platform
import shutil
import subprocess

from harness import SOURCE, Machine, check, no_idle, skip, tool

CHAIN = ["chain::middle(void (*)(int), int)", "chain::outer(void (*)(int), int)", "main", "__libc_start_call_main"]
DECLARED = """[GlobalLogger]
EnableKernelFlags  = PROC_THREAD+LOADER+CSWITCH+DISPATCHER+PROFILE
StackWalkingFilter = Profile+CSwitch+ReadyThread
BufferSize         = 512 KB
MinimumBuffers     = 16
MaximumBuffers     = 128
FileName           = C:\\t_km_premerge.etl
"""
if os.getuid() != 0:
    skip("kernel events need root")
if platform.machine() != "x86_64" or not shutil.which("g++"):
    skip("the program with the known stacks needs x86-64 and g++")


def dump(trace, *args, proc=True):
    """(events with their stacks' frames, of one process only; the summary). proc=False: with an empty /proc, which tells nothing of this kernel."""
    command = [os.path.join(os.environ["AL_BINARY_DIR"], "autologger"), "dump", "--symbols", "--json", *args, trace]
    if not proc:
        command = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh", *command]
    r = subprocess.run(command, capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, command, "->", r.returncode, r.stderr)
    lines = r.stdout.splitlines()
    check('"symbols"' in lines[-1], "the last line is no summary:", lines[-1])
    return [json.loads(x) for x in lines[:-1]] if "--process" in args else lines[:-1], json.loads(lines[-1])["symbols"]


def stacks(events, pid):
    """Trigger's name -> the chains of user functions of the process, leaf first."""
    triggers = {(e["raw"], e["cpu"]): e["event"] for e in events if e["provider"].get("name") in ("PerfInfo", "Thread")}
    found = collections.defaultdict(list)
    for e in events:
        if e["event"] != "Stack" or e["fields"]["StackProcess"] != pid:
            continue
        kind = triggers.get((e["fields"]["EventTimeStamp"], e["cpu"]))
        frames = [f for f in e["frames"] if int(f["address"], 16) < 1 << 47]
        found[kind].append([f.get("function") for f in frames])
    return found


def share(functions):
    return sum(f is not None for f in functions) / len(functions) if functions else 0


with Machine() as m:
    program, declared, out = (os.path.join(m.dir, x) for x in ("call-chain", "t.ini", "out"))
    subprocess.run(["g++", "-O0", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id", "-pthread", "-o", program,
                    os.path.join(SOURCE, "boot-tests", "call_chain.cpp")], check=True)
    with open(declared, "w") as f:
        f.write(DECLARED)
    perf_data = os.path.join(m.dir, "perf.data")
    # perf runs first, and alone: while another tracer records with build ids, this kernel puts them into perf's own mapping records, and perf dies of
    # it. Without randomised addresses both see the same ones.
    perf = shutil.which("perf") and subprocess.run(
        ["setarch", "-R", "perf", "record", "-B", "-N", "-q", "-e", "cpu-clock", "-F", "2000", "-g", "-o", perf_data, "--", program, "250"],
        capture_output=True, text=True)
    script = perf and subprocess.run(["perf", "script", "-i", perf_data, "-F", "pid,ip,sym,dso"], capture_output=True, text=True)
    with no_idle():
        r = tool("rehearse", declared, "--out", out, "--json", "--run", f"setarch -R {program} 250", expect=None)
    rehearsal = json.loads(r.stdout)
    trace = rehearsal["merged"]
    check(trace, "nothing was merged:", r.stdout, r.stderr)

    # each loaded file has its identity
    events = [json.loads(x) for x in tool("dump", "--json", "--provider", "Image", "--provider", "ImageID", trace).stdout.splitlines()]
    images = [e for e in events if e["provider"].get("name") == "Image" and e["fields"]["FileName"].startswith("\\")]
    ids = {(e["raw"], e["cpu"]): e for e in events if e["event"] == "DbgID_RSDS"}
    with_id = sum((e["raw"], e["cpu"]) in ids for e in images)
    check(images and with_id >= 0.95 * len(images), "only", with_id, "of", len(images), "images of files have a debug id")
    pids = [e["fields"]["ProcessId"] for e in events if e["provider"].get("name") == "Image" and e["fields"]["FileName"].endswith("\\call-chain")]
    check(pids, "the program's image is not in the trace")
    pid = pids[-1]

    # a known chain, names and order; the kernel's frames by what the merge saved
    _, n = dump(trace, proc=False)
    check(n["kernel_symbols"] == "saved", n)
    kernel = n["kernel_named"] / n["kernel_frames"]
    check(kernel >= 0.98, "kernel frames named:", kernel)
    events, n = dump(trace, "--process", str(pid), proc=False)
    found = stacks(events, pid)
    for kind, leaf in (("SampledProfile", "chain::spin(int)"), ("CSwitch", "chain::rest(int)"), ("ReadyThread", "chain::wake(int)")):
        whole = [s for s in found[kind] if s == [leaf] + CHAIN]
        ours = [s for s in found[kind] if s and s[0] == leaf]
        print(kind, len(found[kind]), "stacks,", len(ours), "of them in", leaf + ",", len(whole), "with the whole chain")
        check(len(whole) >= 20, "too few whole chains at", kind, ours[:3], found[kind][:3])
        # a function has no frame at its first and last instructions: its caller is then left out
        check(len(whole) >= 0.95 * len(ours), "other chains at", kind, [s for s in ours if s != [leaf] + CHAIN][:5])

    # the quality of stacks, by kind of event: the summary and the dump have the same count, and its parts add up
    everything, n = dump(trace)
    totals = json.loads(tool("summary", "--symbols", "--json", trace).stdout)["stackQuality"]
    quick = json.loads(tool("summary", "--json", trace).stdout)["stackQuality"]
    for name in ("complete", "cut", "unknown", "missing"):
        check(sum(r[name] for r in totals) == n["stacks_" + name] == sum(r[name] for r in quick), name, totals, quick, n)
    for part in ("kernel", "user"):
        check(sum(r[part]["named"] for r in totals) == n[part + "_named"] and sum(r[part]["frames"] for r in totals) == n[part + "_frames"], part, totals, n)
        check(all("named" not in r[part] for r in quick), "the share of names was not asked for", quick)
    lines = [json.loads(line) for line in everything]
    with_stack = {(e["fields"]["EventTimeStamp"], e["cpu"]) for e in lines if e["event"] == "Stack"}
    for name in ("PerfInfo/SampledProfile", "Thread/CSwitch", "Thread/ReadyThread"):
        row = [r for r in totals if r["event"] == name][0]
        seen = [(e["raw"], e["cpu"]) in with_stack for e in lines if f"{e['provider'].get('name')}/{e['event']}" == name]
        print(row)
        check(row["events"] == len(seen) and row["stacks"] == sum(seen) and row["missing"] == len(seen) - sum(seen), "not as the events say", row, len(seen), sum(seen))
        check(row["complete"] + row["cut"] + row["unknown"] == row["stacks"], "does not add up", row)
        check(row["kernel"]["complete"] >= 0.9 * (row["stacks"] - row["kernel"]["none"]), "the kernel's parts are whole on any machine", row)
    text = tool("summary", "--symbols", trace).stdout
    check("kernel whole" in text and "Thread/CSwitch" in text and "frames with a name: kernel" in text, text[-2000:])

    # perf's names for the same program, for addresses in both
    user = [(int(f["address"], 16), "function" in f) for e in events if e["event"] == "Stack" and e["fields"]["StackProcess"] == pid
            for f in e["frames"]]
    if not script or perf.returncode or script.returncode:
        print("perf: skipped:", "there is none" if not script else (perf.stderr + script.stderr).strip()[-200:])
    else:
        rows = [line.strip().split(None, 1) for line in script.stdout.splitlines() if line.startswith(("\t", " ")) and line.strip()]
        theirs = {}
        for address, rest in (r for r in rows if len(r) == 2): # "1234 function (path)": relative to where the file was mapped
            if rest.endswith(")") and "/" in rest:
                theirs[os.path.basename(rest[rest.rindex("(") + 1:-1]), int(address, 16)] = not rest.startswith("[unknown]")
        mapped = [(e["fields"]["FileName"].split("\\")[-1], int(e["fields"]["ImageBase"], 16), int(e["fields"]["ImageSize"], 16)) for e in images
                  if e["fields"]["ProcessId"] == pid]
        ours = {(name, a - base): named for a, named in user for name, base, size in mapped if base <= a < base + size}
        both = set(ours) & set(theirs)
        mine, perfs = sum(ours[a] for a in both), sum(theirs[a] for a in both)
        print(f"perf: {len(both)} addresses seen by both; named here {mine}, by perf {perfs}")
        check(len(both) >= 10, "too few addresses in common:", len(ours), len(theirs))
        check(mine >= perfs, "perf names more:", [a for a in both if theirs[a] and not ours[a]][:10])

    # the file has been replaced: its names must not be used, the wanted build id is shown
    build_id = subprocess.run(["readelf", "-n", program], capture_output=True, text=True).stdout.split("Build ID: ")[1].split()[0]
    kept = os.path.join(m.dir, "kept")
    os.makedirs(os.path.join(kept, ".build-id", build_id[:2]))
    shutil.move(program, os.path.join(kept, "somewhere"))
    shutil.copy("/bin/true", program)
    events, n = dump(trace, "--process", str(pid))
    missing = {f["build_id"]: f for f in n["missing_files"]}
    check(build_id in missing and missing[build_id]["path"] == program, "the file that is gone is not asked for:", n["missing_files"])
    lost = [f for e in events for f in e.get("frames", []) if f.get("build_id") == build_id]
    check(lost and all(f["state"] == "no-file" and "function" not in f for f in lost), lost[:3])
    text = tool("dump", "--symbols", trace, "--process", str(pid))
    check(f"(needs {program}, build id {build_id})" in text.stdout, "the text does not say what is needed")
    check(build_id in text.stderr and "--symbol-path" in text.stderr, text.stderr)

    # found again: stripped, with its debug information in a folder by build id
    os.rename(os.path.join(kept, "somewhere"), os.path.join(kept, ".build-id", build_id[:2], build_id[2:] + ".debug"))
    events, n = dump(trace, "--process", str(pid), "--symbol-path", kept)
    check(build_id not in {f["build_id"] for f in n["missing_files"]}, n["missing_files"])
    check([s for s in stacks(events, pid)["SampledProfile"] if s == ["chain::spin(int)"] + CHAIN], "no chain with the folder of debug information")
    print("kernel", kernel, "user", n["user_named"] / n["user_frames"], {k: n[k] for k in n if k.startswith("stacks")})

    # without LOADER no frame can be named, and both give the reason
    check("without LOADER" not in text.stderr, text.stderr)
    with open(declared, "w") as f:
        f.write(DECLARED.replace("+LOADER", ""))
    out = os.path.join(m.dir, "bare")
    bare = json.loads(tool("rehearse", declared, "--out", out, "--json", "--run", "sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done'", expect=None).stdout)["merged"]
    check(bare, "nothing was merged")
    r = tool("dump", "--symbols", bare, timeout=300)
    check("unknown, because the trace has no images (it was made without LOADER). Do: trace with the kernel flag LOADER" in r.stderr, r.stderr)
    check("without LOADER" in tool("summary", "--symbols", bare).stdout, "the summary does not say it")
    _, n = dump(bare)
    check(n["images"] == 0 and n["user_frames"] > 0 and n["user_named"] == 0 and n["no_image"] > 0, n)
