"""A boot that ends by itself, with the real daemon on this machine: StopAfter, boot-done, MaxWait, merging, Once, boots that did not
finish, a daemon that is killed while it waits; what follows on a boot that was asked for once (D-81, D-82). Private to the test: the boot id, a systemctl of its own in PATH, the folder that says
that systemd runs, and the processors' counters. Proves: ANA-10, CTL-09, CTL-17, MRG-12 (events by phase), COR-20, CTL-09, CTL-17, MRG-12."""
import json
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from boot_end_machine import Boots
from harness import check


def stops_after_a_time():
    with Boots("[Boot]\nStopAfter = 4 s\n") as m:
        m.systemctl("sleep 6; echo running")  # after the trace's end: the mark is kept all the same
        check(m.boot() == {"web", "other"}, "not booted")
        w, tally = m.writer(0, 2000)
        w.wait(30)
        took = m.wait_stopped(20)
        check(took >= 3.9, "stopped after", took, "s already")
        s = m.wait_merged()
        check(s["stop_reason"] == "4 s after the start", s["stop_reason"])
        check(s["merged"] == m.merged, s["merged"])
        check(all(r["merged_path"] == m.merged for r in s["sessions"]), s)
        check(m.verify(m.merged, [tally])["events"] == 2000, "events are missing")
        end = time.time() + 10  # the merging process removes its sources, then the daemon learns of it
        while not s["first_user_ns"] and time.time() < end:
            s = m.status()
        check(s["first_user_ns"] > 0, "when the first event came:", s["first_user_ns"], s["first_kernel_ns"])
        end = time.time() + 30
        while not m.status()["target_ms"] and time.time() < end:
            time.sleep(0.1)
        check(m.status()["target_ms"] >= 5900, "the default target after the end of the boot's trace:", m.status()["target_ms"])
        check(m.keeper.poll() is None, "the daemon does not serve any more")
        m.shutdown()
        # a daemon that is started again in the same boot traces nothing twice, and keeps the result of the boot
        before = m.status()
        check(m.boot(again=True) == set(), "booted twice")
        m.shutdown()
        check(m.status() == before, "the rows of the boot were replaced")
        os.unlink(os.path.join(m.runtime, "booted"))  # the boot never came to boot-done, so the guard does not know it: only the marker does
        check(m.boot(again=True) == {"web", "other"}, "without the marker it is booted again")
        m.shutdown()


# an initramfs allows 64 KB of locked memory, and Linux before 5.11 counts BPF programs as locked memory
LOCKED_MOST = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, LOCKED_MOST))


def boot_done_once():
    with Boots("[Boot]\nOnce = yes\nStopAfter = boot-done + 1 s\n") as m:
        reached = os.path.join(m.dir, "reached")
        m.systemctl(f"while ! [ -e {reached} ]; do sleep 0.1; done; echo running")
        check(m.boot() == {"web", "other"}, "not booted")
        time.sleep(2)
        check(m.running() == {"web", "other"}, "a busy machine is not done")
        for count in (200, 100):  # before the default target, and after it
            w, _ = m.writer(0, count, wait_ms=1000)
            w.wait(30)
            with open(reached, "w"):
                pass
            time.sleep(3)
        pid = m.daemon_pid()
        os.kill(pid, signal.SIGKILL)  # its successor goes on waiting
        m.wait_ready()
        check(m.daemon_pid() != pid, "not killed")
        limits = open(f"/proc/{m.daemon_pid()}/limits").read()  # D-33: the daemon raises its soft limit as far as it may
        check(limits.split("Max locked memory")[1].split()[0] in ("unlimited", str(LOCKED_MOST)), limits)
        m.idle_begin()
        began = time.time()
        m.wait_stopped(40)
        check(time.time() - began >= 10, "done too early")
        s = m.wait_merged()
        check(s["stop_reason"] == "boot-done + 1 s", s["stop_reason"])
        check(0 < s["target_ms"] < s["boot_done_ms"] - 9000, s["target_ms"], s["boot_done_ms"])
        phases = {p["name"]: p for p in json.loads(m.tool("boots", "last", "--store", m.store, "--json").stdout)["phases"]}
        check(phases["kernel"]["events"] is None and phases["initramfs"]["start_ns"] is None, "no early program was there:", phases)
        check(abs(phases["settling"]["length_ns"] / 1e6 - (s["boot_done_ms"] - s["target_ms"])) < 2, phases, s["target_ms"], s["boot_done_ms"])
        up = time.clock_gettime(time.CLOCK_BOOTTIME)
        check(up - 120 < phases["after boot-done"]["start_ns"] / 1e9 < up, "since the kernel began:", phases, up)
        check(sum(phases[p]["events"] for p in ("user space", "settling", "after boot-done")) == 300 and
              phases["user space"]["events"] == 200 and phases["settling"]["events"] == 100, phases)
        m.idle_end()
        check(m.asked() == ["--quiet --no-block start autologger-once.service"], "D-82: asked of systemd, once the files were merged:", m.asked())
        m.shutdown()
        check("consumed 1" in open(m.guard).read(), open(m.guard).read())
        check(m.boot(again=True) == set(), "booted twice in a boot")
        m.shutdown()
        check(m.status()["stop_reason"] == "boot-done + 1 s", "the rows of the boot were replaced")
        m.used_up(1)
        m.used_up(1)
        check(os.path.exists(m.merged), "the trace is gone")


def max_wait():
    with Boots("[Boot]\nMaxWait = 2 s\n") as m:
        m.systemctl("sleep 1000", jobs="12 slow.service start running")
        m.boot()
        took = m.wait_stopped(20)
        check(took >= 1.9, "stopped after", took, "s already")
        s = m.wait_merged()
        check(s["stop_reason"] == "MaxWait 2 s: boot-done was not reached: systemd is still starting slow.service", s["stop_reason"])
        check("unfinished" in open(m.guard).read(), "the guard was cleared")
        m.shutdown()
    with Boots("[Boot]\nMaxWait = 2 s\n") as m:  # the target is reached, but this machine is never idle: the boot has not failed
        m.systemctl("echo degraded; exit 1")
        m.boot()
        m.wait_stopped(20)
        s = m.wait_merged()
        check("there were 0.0 s" in s["stop_reason"], s["stop_reason"])
        check("unfinished" not in open(m.guard).read(), "the guard was not cleared")
        m.shutdown()


def unfinished():
    with Boots("[Boot]\nOnce = yes\n") as m:
        check(m.boot() == {"web", "other"}, "not booted")
        m.power_cut()
        m.off("off: boot 1 did not finish", 1223, 1)
        m.off("off: boot 1 did not finish", 1223, 1)
    with Boots("[Boot]\nOnce = no\n") as m:
        for _ in range(2):
            check(m.boot() == {"web", "other"}, "not booted")
            m.power_cut()
        m.off("off: boots 1 and 2 did not finish", 1223, 1)
        subprocess.run(["dd", "if=/dev/zero", "of=" + m.guard, "bs=1", "count=4", "conv=notrunc"], check=True, capture_output=True)
        check(m.boot() == {"web", "other"}, "a damaged guard is one try of two")
        m.power_cut()
        m.off("did not finish", 1223, 1)


def shut_down_and_asked():
    with Boots("[Boot]\nOnce = no\n") as m:
        check(m.boot() == {"web", "other"}, "not booted")
        w, tally = m.writer(0, 500, wait_ms=1000)
        w.wait(30)
        began = time.time()
        m.shutdown()
        print(f"shutdown with merging: {time.time() - began:.2f} s")
        s = m.status()
        check(s["stop_reason"] == "shutdown" and s["merged"] == m.merged and not m.premerge(), s["stop_reason"], s["merged"], m.premerge())
        check(m.verify(m.merged, [tally])["events"] == 500, "events are missing")
    with Boots("") as m:  # as on Windows: it never ends by itself
        check(m.boot(extra=["--keep-premerge"]) == {"web", "other"}, "not booted")
        for name in ("web", "other"):
            m.tool("stop", name)
        end = time.time() + 10
        while m.status()["stop_reason"] != "asked" and time.time() < end:
            time.sleep(0.05)
        check(m.status()["stop_reason"] == "asked", m.status()["stop_reason"])
        m.shutdown()
        check(m.status()["stop_reason"] == "asked" and not m.status()["merged"], "stopping one by one merges nothing")


def stop_and_merge():
    """stop --merge ends the boot at once; also after sessions were stopped one by one; a second call is fine."""
    for one_by_one in (False, True):
        with Boots("[Boot]\nOnce = no\n") as m:
            check(m.boot() == {"web", "other"}, "not booted")
            w, tally = m.writer(0, 500, wait_ms=1000)
            w.wait(30)
            if one_by_one:
                m.tool("stop", "web")
                m.tool("stop", "other")
            for _ in range(2):
                said = m.tool("stop", "--merge").stdout
                check(f"merged file: {m.merged}" in said, said)
                check(not m.premerge() and not m.running(), m.premerge(), m.running())
            s = m.status()
            check(s["stop_reason"] == "asked" and s["merged"] == m.merged, s["stop_reason"], s["merged"])
            check(m.verify(m.merged, [tally])["events"] == 500, "events are missing")
            m.shutdown()
            check(m.status()["merged"] == m.merged, "the daemon's end took the merged file out of the rows")


def merged_by_the_next_boot():
    """A shutdown had no time to merge: the next boot, with files of the same names, removes nothing, and merges them."""
    with Boots("[Boot]\nOnce = no\n") as m:
        tallies = []
        for number in (1, 2):
            check(m.boot(extra=["--merge-wait", "0"]) == {"web", "other"}, "not booted")
            w, tally = m.writer(0, 400 + number, wait_ms=1000)
            w.wait(30)
            tallies.append(tally + f"-of-boot-{number}")
            os.rename(tally, tallies[-1])
            if number == 1:
                m.shutdown()
                s = m.status()
                written = sum(r["written"] for r in s["sessions"])
                check(written == 401, "the first boot has", written, "events")
                notes = [c for r in s["sessions"] for c in r["conditions"] if c["item"] == "merge"]
                check(s["stop_reason"] == "shutdown" and not s["merged"] and len(notes) == 1, s["stop_reason"], s["merged"], notes)
                check("next boot merges them" in notes[0]["advice"], notes)
                check(sorted(m.premerge()) == ["boot_TEST_1_um_premerge.etl", "other.etl"], m.premerge())
        os.kill(m.daemon_pid(), signal.SIGKILL)  # its successor does this, too
        m.wait_ready()
        check("boot_TEST_1_um_premerge.boot-1.etl" in m.premerge(), "not moved aside:", m.premerge())
        check(not m.status_of(1)["merged"], "merged while this boot is traced")
        m.tool("stop", "--merge")
        end = time.time() + 30
        while not m.status_of(1)["merged"] and time.time() < end:
            time.sleep(0.05)
        first, last = m.status_of(1), m.status()
        check(first["merged"] == m.merged.replace(".etl", ".boot-1.etl"), first["merged"])
        check(first["stop_reason"] == "shutdown; merged in a later boot", first["stop_reason"])
        check(not [c for r in first["sessions"] for c in r["conditions"] if c["item"] == "merge"], "the note stays", first)
        check(last["number"] == 2 and last["merged"] == m.merged and last["stop_reason"] == "asked", last["number"], last["merged"])
        for tally, path, events in zip(tallies, (first["merged"], last["merged"]), (401, 402)):
            check(m.verify(path, [tally])["events"] == events, "events are missing")
        end = time.time() + 10
        while m.premerge() and time.time() < end:
            time.sleep(0.05)
        check(not m.premerge() and not any("boot-1" in f for f in m.log_files() if not f.endswith("TEST_1.boot-1.etl")), m.log_files())
        m.shutdown()


def killed_while_merging():
    """Killed at many moments around the end: finally there is one file, with every event once."""
    for trial in range(6):
        with Boots("[Boot]\nStopAfter = 3 s\n") as m:
            m.boot()
            w, tally = m.writer(0, 20000, rate=40000)
            w.wait(30)
            time.sleep(max(0, m.began + 2.95 + trial * 0.04 - time.time()))
            os.kill(m.daemon_pid(), signal.SIGKILL)
            m.wait_ready()
            m.wait_stopped(20)
            s = m.wait_merged()
            check(s["stop_reason"] == "3 s after the start", s["stop_reason"])
            check(m.verify(m.merged, [tally])["events"] > 1000, "events are missing")
            m.shutdown()
            check(not m.premerge(), "left:", m.premerge())


TESTS = {test.__name__: test for test in (killed_while_merging, boot_done_once, stops_after_a_time, unfinished, max_wait, merged_by_the_next_boot,
                                          stop_and_merge, shut_down_and_asked)}
AT_ONCE = 3  # each is a program with a machine of its own, and mostly waits


def one(name):
    r = subprocess.run([sys.executable, __file__, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("--", name, r.stdout, sep="\n", flush=True)
    return r.returncode


if len(sys.argv) > 1:
    TESTS[sys.argv[1]]()
else:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        check(not any(list(pool.map(one, TESTS))), "what failed is above")
