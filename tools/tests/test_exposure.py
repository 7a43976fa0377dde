"""systemd-analyze security's findings for the units, compared with docs/BOOT.md, section 7c: no unit is more exposed than the table says, and each
setting that a unit leaves open stands there with its reason, neither more nor less.
Proves: that a line which protects cannot leave a unit unnoticed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["AL_SOURCE_DIR"])
HEADING = "## 7c. What the units leave open"


def table():
    """{unit: (largest exposure, names of the open settings)}"""
    text = (SOURCE / "docs/BOOT.md").read_text(encoding="utf-8").split(HEADING)[1].split("\n## ")[0]
    found, unit = {}, None
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 4 or cells[0] in ("Unit", "---"):
            continue
        if cells[0]:
            unit = cells[0].strip("`")
            found[unit] = (float(cells[1]), set())
        assert cells[3], f"{unit}: {cells[2]} has no reason"
        found[unit][1].update(cells[2].split(", "))
    return found


def analyse(unit):
    """(exposure, names of the open settings), by systemd-analyze"""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager"]
    rows = subprocess.run([*command, "--json=short", str(unit)], capture_output=True, text=True, check=False)
    whole = subprocess.run([*command, str(unit)], capture_output=True, text=True, check=False)
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", whole.stdout)
    if not exposure or not rows.stdout.startswith("["):
        print("this systemd-analyze reads no unit by itself:", whole.stderr.strip() or rows.stderr.strip())
        sys.exit(77)
    return float(exposure[1]), {r["name"].split("=")[0] for r in json.loads(rows.stdout) if r["exposure"] and float(r["exposure"]) > 0}


def main():
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is missing. Do: apt-get install systemd")
        return 77
    said, wrong = table(), []
    units = sorted((SOURCE / "config/systemd").glob("*.service"))
    assert {u.name for u in units} == set(said), ("units and the table differ", sorted(said))
    for unit in units:
        most, reasons = said[unit.name]
        exposure, left = analyse(unit)
        print(f"{unit.name}: {exposure}, at most {most}")
        if exposure > most:
            wrong.append(f"{unit.name}: exposure {exposure}, more than {most}")
        wrong += [f"{unit.name}: {name} is open, and docs/BOOT.md does not say why" for name in sorted(left - reasons)]
        wrong += [f"{unit.name}: {name} is not open, and docs/BOOT.md says why it is" for name in sorted(reasons - left)]
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
