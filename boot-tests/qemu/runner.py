"""Runs one scenario: images, boots, and the comparison with what is expected."""
import pathlib
import shutil
import tempfile
import time

from qemu import cuts as power_cuts
from qemu import between, debian, disk, initramfs, kernel, machine, roots
from qemu.expect import Checker
from qemu.places import Failed, Stuck
from qemu.remains import Remains

RESULTS_MB = 128


class Outcome:
    """The result of a scenario."""

    def __init__(self, name):
        self.name, self.wrong, self.lines, self.boots, self.remains, self.work = name, [], 0, [], None, None
        self.cuts = 0

    def as_json(self):
        return {"name": self.name, "passed": not self.wrong, "wrong": self.wrong, "expectations": self.lines, "cuts": self.cuts,
                "boots": [{"seconds": round(b.seconds, 2), "cut": b.cut} for b in self.boots],
                "folder": str(self.work) if self.work else None}


def prepare(scenario, work, in_memory=False):
    """The kernel, the initramfs and the disks of a scenario. in_memory: the root is in memory."""
    root, initial = roots.make(scenario, work)
    disks = [root]
    if in_memory and (work / "root/etc/fstab").exists():
        (work / "root/etc/fstab").write_text("root / tmpfs rw,mode=755,size=80% 0 0\n")  # by this line systemd remounts it writable
    if scenario.initramfs and not initial:
        initial = initramfs.make(scenario, work, work / "root" if in_memory else None)
    disk.make(work / "results.img", None, RESULTS_MB, "results")
    disks.append(work / "results.img")
    for name, size in scenario.disks:
        disk.make(work / f"{name}.img", None, size, name)
        disks.append(work / f"{name}.img")
    return kernel.image(scenario.kernel), initial, disks


def save(work):
    """Keeps a copy of the disks from before the first boot."""
    for image in work.glob("*.img"):
        disk.copy(image, image.with_suffix(".first"))


def refill(work):
    """Gives the next boot the first boot's original disks."""
    for image in work.glob("*.first"):
        disk.copy(image, image.with_suffix(".img"))


def one_boot(scenario, number, parts, work, exact=False, arguments=""):
    kernel_image, initial, disks = parts
    entry = scenario.entry_words if number == 1 else ""
    words = f"{scenario.arguments} {entry} {scenario.of_boot(number, 'arguments', '')} {arguments}"
    line = machine.command(kernel_image, initial, disks, scenario.memory, scenario.cpus, " ".join(words.split()), exact,
                           scenario.disk_limit, kernel.CPU[scenario.kernel])
    cut_after = scenario.of_boot(number, "cut-after")
    return machine.boot(line, work / f"serial-{number}.txt", int(scenario.of_boot(number, "timeout", scenario.timeout)),
                        float(cut_after) if cut_after else None, scenario.of_boot(number, "cut-at"))


def run_scenario(scenario, keep=False, say=lambda text: None, cuts=None):
    """The outcome; raises Missing when this machine cannot run the scenario. cuts: the number of power cuts, if the scenario has some."""
    outcome = Outcome(scenario.name)
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"autologger-boot-{scenario.name}-"))
    outcome.work = work if keep else None
    try:
        if scenario.cuts:
            power_cuts.run_scenario(scenario, cuts or scenario.cuts, work, outcome, say)
            return outcome
        begun = time.monotonic()
        parts = prepare(scenario, work)
        say(f"images made in {time.monotonic() - begun:.1f} s")
        for number in range(1, scenario.boots + 1):
            if number > 1:
                debian.image_of(scenario, work)
            _boot_and_check(scenario, number, parts, work, outcome, say)
            between.follow(scenario, number, outcome.remains, work)
    except (Failed, Stuck) as e:
        outcome.wrong.append(str(e))
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    return outcome


def boot_again(scenario, number, parts, work, say, exact=False, arguments=""):
    """A boot; if the emulated machine stands still (machine.boot), one more from the original disks. Twice is a failure."""
    kept = {image: image.with_suffix(".before") for image in work.glob("*.img")}
    for image, copy in kept.items():
        disk.copy(image, copy)
    try:
        return one_boot(scenario, number, parts, work, exact, arguments)
    except Stuck as e:
        say(f"boot {number}: the emulated machine stood still, it is booted once more. {e}")
        for image, copy in kept.items():
            disk.copy(copy, image)
        return one_boot(scenario, number, parts, work, exact, arguments)
    finally:
        for copy in kept.values():
            copy.unlink(missing_ok=True)


def _boot_and_check(scenario, number, parts, work, outcome, say):
    boot = boot_again(scenario, number, parts, work, say)
    outcome.boots.append(boot)
    say(f"boot {number}: {boot.seconds:.1f} s" + (", then its power was cut" if boot.cut else ""))
    path = scenario.expectation(number)
    trouble = boot.trouble()
    if trouble and not (path and "serial has" in path.read_text()):
        outcome.wrong.append(f"boot {number}: the guest's kernel said: {trouble}")
    if not path:
        return
    log_disk = work / "logs.img" if any(name == "logs" for name, _ in scenario.disks) else None
    outcome.remains = Remains(work, number, boot.serial, log_disk)
    wrong, lines = Checker(outcome.remains, scenario.kernel).check(path)
    outcome.wrong += wrong
    outcome.lines += lines
