"""What-if against what is: planted boots, each a second time with the unit of its verdict masked (systemd.mask=); the second boot's duration beside
the prediction of `autologger why --without UNIT` for the first. One processor, and the guest's clock counts instructions: other load does not
matter."""
import json
import pathlib
import shutil
import tempfile

from qemu import runner
from qemu.places import Failed, Stuck, built, run
from qemu.remains import Remains
from qemu.slow import TRACE


def _asked(*words):
    said = run(built("autologger"), *words, check=False).stdout
    return json.loads(said) if said.strip() else {}


def _boot(scenario, number, parts, work, arguments, say):
    boot = runner.boot_again(scenario, number, parts, work, say, exact=True, arguments=arguments)
    traces = Remains(work, number, boot.serial).logs(TRACE)
    if not traces:
        raise Failed(f"boot {number} left no trace")
    return traces[0]


def _keep(folder, trace, name):
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(trace, folder / f"{name}.etl")


def measure(scenario, keep=None, say=lambda text: None):
    """{name, unit, boot, predicted, least, most, measured}, in milliseconds; {name, wrong} without such a figure."""
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"autologger-without-{scenario.name}-"))
    try:
        parts = runner.prepare(scenario, work)
        with_it = _boot(scenario, 1, parts, work, "", say)
        unit = _asked("why", "--json", with_it).get("verdict", {}).get("unit")
        if not unit:
            return {"name": scenario.name, "wrong": "the verdict names no unit"}
        said = _asked("why", "--json", "--without", unit, with_it)
        _keep(keep, with_it, scenario.name)
        runner.refill(work)
        without = _boot(scenario, 2, parts, work, f"systemd.mask={unit}", say)
        _keep(keep, without, f"{scenario.name}-without")
        measured = _asked("report", "--json", without).get("finish")
        if not measured:
            raise Failed("the second boot has no end")
        return {"name": scenario.name, "unit": unit, "boot": said["boot_ms"], "predicted": said["predicted_ms"],
                "least": said["boot_ms"] - said["gain_most_ms"], "most": said["boot_ms"] - said["gain_least_ms"], "measured": round(measured)}
    except (Failed, Stuck, KeyError, ValueError) as e:
        return {"name": scenario.name, "wrong": str(e)}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def show(row):
    if "wrong" in row:
        return f"{row['name']:16} {row['wrong']}"
    off = 100 * (row["predicted"] - row["measured"]) / row["measured"]
    return (f"{row['name']:16} {row['boot'] / 1e3:6.1f} s  without {row['unit']}: {row['predicted'] / 1e3:.1f} s predicted ({row['least'] / 1e3:.1f} to "
            f"{row['most'] / 1e3:.1f}), {row['measured'] / 1e3:.1f} s measured: {off:+.0f} %")
