"""A machine whose power is cut at random moments, again and again, on the same disks: after each cut the file system mounts, the store has every key
whose commit was reported, every trace opens, and the guard knows of a boot that had come far enough. The disks are examined without a boot; a last
boot, uncut, must be as the scenario's `expect` says.

One chain of boots per slot (AL_QEMU_SLOTS), each with disks of its own. Before a boot the guard is taken away, as `apply` does."""
import concurrent.futures
import dataclasses
import os
import random
import re
import shutil
import time

from qemu import disk, kernel, machine, runner
from qemu.expect import Checker
from qemu.places import Failed, Stuck, run, built, tool
from qemu.remains import LOGS, STORE, Remains

GUARD = "var/lib/autologger/guard"
KEY = "HKLM\\SOFTWARE\\cuts"
BEGUN, COMMITTED, SERVED = "boot-test: writing", "boot-test: committed ", "boot-test: served"


@dataclasses.dataclass
class Tally:
    """The result of a chain of boots."""
    cuts: int = 0
    came_to_end: int = 0  # before the moment of the cut
    committed: int = 0  # the highest key
    traces: int = 0  # opened, over all cuts
    tries: int = 0  # the guard knew of the boot


class Chain:
    def __init__(self, scenario, parts, folder, seed):
        self.scenario, self.folder, self.tally = scenario, folder, Tally()
        self.random = random.Random(seed)
        folder.mkdir()
        disks = []
        for image in parts[2]:
            disk.copy(image, folder / image.name)
            disks.append(folder / image.name)
        self.parts, self.root = (parts[0], parts[1], disks), folder / "root.img"

    def boot(self, number, cut_after=None):
        disk.remove(self.root, "/" + GUARD)
        line = machine.command(*self.parts, self.scenario.memory, self.scenario.cpus, f"{self.scenario.arguments} cuts.base={self.tally.committed}",
                               cpu=kernel.CPU[self.scenario.kernel])
        serial = self.folder / f"serial-{number}.txt"
        try:
            return machine.boot(line, serial, self.scenario.timeout, cut_after, BEGUN if cut_after is not None else None)
        except Stuck:  # stuck, it was switched off at another moment than planned: that is a cut, too
            if cut_after is None:
                return machine.boot(line, serial, self.scenario.timeout)
            said = "\n".join(text for text in serial.read_text(errors="replace").splitlines() if "rcu" not in text)
            return machine.Boot(0, said, True)

    def run(self, cuts, span, say):
        number = 0
        while self.tally.cuts < cuts:
            number += 1
            moment = self.random.uniform(0, span)
            boot = self.boot(number, moment)
            self.tally.cuts += boot.cut
            if not boot.cut:
                self.tally.came_to_end += 1
                span *= 0.95  # this machine boots faster now
            if number > 3 * cuts + 20:
                raise Failed(f"{self.tally.came_to_end} of {number} boots came to their end before the power was cut")
            try:
                self.look(boot)
            except Failed as e:
                shutil.copy(self.root, self.folder / f"root-{number}.failed")
                say(f"{self.folder.name}: boot {number}: {e}")
                raise Failed(f"{self.folder.name}, boot {number}, {moment:.3f} s after the root could be written: {e}") from e
            if boot.cut and self.tally.cuts % 10 == 0:
                say(f"{self.folder.name}: {self.tally}")

    def look(self, boot):
        """The disk's contents, as the next mount finds them."""
        if boot.trouble():
            raise Failed(f"the guest's kernel said: {boot.trouble()}")
        disk.replay(self.root)
        found = self.folder / "found"
        shutil.rmtree(found, ignore_errors=True)
        for place in (STORE.rsplit("/", 1)[0], LOGS):
            disk.extract(self.root, "/" + place, found / place.rsplit("/", 1)[0])
        self.look_at_keys(boot, found / STORE)
        for trace in sorted((found / LOGS).rglob("*")):
            if trace.is_file():
                self.look_at_trace(trace)
        if SERVED in boot.serial and boot.cut:
            text = (found / GUARD).read_text() if (found / GUARD).exists() else "there is none"
            if not re.search(r"^boot \d+ unfinished", text, re.M):
                raise Failed(f"the guard does not know of a boot that was served by the daemon: {text}")
            self.tally.tries += 1

    def look_at_keys(self, boot, store):
        said = [int(line.partition(COMMITTED)[2]) for line in boot.serial.splitlines() if COMMITTED in line and line.rpartition(" ")[2].isdigit()]
        reported = max([self.tally.committed, *said])
        text = tool("export", "--store", store, "--key", KEY, check=False)
        keys = [int(n) for n in re.findall(r"^\[.*\\cuts\\k(\d+)\]", text.stdout, re.M)]
        values = [int(n, 16) for n in re.findall(r'^"n"=dword:([0-9a-f]+)', text.stdout, re.M)]
        last = max(keys, default=0)
        if sorted(keys) != list(range(1, last + 1)) or sorted(keys) != sorted(values) or not reported <= last <= reported + 1:
            raise Failed(f"{reported} keys were committed; the store has {len(keys)}, the last one {last}: {text.stderr[-300:]}")
        status = tool("status", "--store", store, "--json", check=False)
        if not status.stdout.startswith("{") and status.returncode not in (0, 1):
            raise Failed(f"status: exit {status.returncode}: {status.stderr[-300:]}")
        self.tally.committed = last

    def look_at_trace(self, path):
        r = run(built("autologger"), "summary", path, "--json", check=False)
        self.tally.traces += 1
        if not r.stdout.startswith("{"):
            raise Failed(f"{path.name} of {path.stat().st_size} bytes cannot be opened: exit {r.returncode}: {r.stderr[-300:]}")


def run_scenario(scenario, cuts, work, outcome, say):
    """Fills the outcome of a scenario with `cuts` power cuts."""
    parts = runner.prepare(scenario, work)
    slots = max(1, int(os.environ.get("AL_QEMU_SLOTS", "1")))
    seed = int(os.environ.get("AL_SEED", time.time_ns() % 10 ** 9))
    chains = [Chain(scenario, parts, work / f"chain-{n + 1}", seed + n) for n in range(min(slots, cuts))]
    whole = chains[0].boot(0)
    marks = Remains(chains[0].folder, 0, whole.serial).marks()
    chains[0].look(whole)
    span = (marks["finish"] - marks["writable"]) / 1e9 + 1
    say(f"an uncut boot: {whole.seconds:.1f} s, {span:.1f} s of it after the root could be written; seed {seed}")
    shares = [cuts // len(chains) + (n < cuts % len(chains)) for n in range(len(chains))]
    with concurrent.futures.ThreadPoolExecutor(len(chains)) as pool:
        for done in [pool.submit(chain.run, share, span, say) for chain, share in zip(chains, shares)]:
            try:
                done.result()
            except Failed as e:
                outcome.wrong.append(str(e))
    for chain in chains:
        boot = chain.boot(scenario.boots + 1)
        outcome.boots.append(boot)
        outcome.remains = Remains(chain.folder, scenario.boots + 1, boot.serial)
        wrong, lines = Checker(outcome.remains).check(scenario.folder / "expect")
        outcome.wrong += [f"{chain.folder.name}, the last boot: {w}" for w in wrong]
        outcome.lines += lines
        chain.look(boot)
        say(f"{chain.folder.name}, the last boot: {chain.tally}")
    outcome.cuts = sum(chain.tally.cuts for chain in chains)
