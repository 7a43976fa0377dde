"""check_elf.py names each missing protection: small programs are made, each without one protection.
Proves: tools/dev/check_elf.py can fail."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["AL_SOURCE_DIR"], "tools/dev"))
import check_elf  # noqa: E402

SOURCE = """#include <string.h>
#include <stdio.h>
int main(int argc, char **argv) { char text[40]; strcpy(text, argv[argc - 1]); return printf("%s", text); }
"""
GOOD = ["-O2", "-fPIE", "-pie", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now,-z,noexecstack"]
CASES = [ # additional compiler words; the protection that is named
    ([], None),
    (["-static-pie"], None),
    (["-fno-pie", "-no-pie"], "(PIE)"),
    (["-static", "-no-pie"], "(PIE)"),
    (["-Wl,-z,norelro"], "no RELRO"),
    (["-Wl,-z,lazy"], "(NOW)"),
    (["-Wl,-z,execstack"], "its stack can be executed"),
    (["-fno-stack-protector"], "no stack protector"),
    (["-U_FORTIFY_SOURCE"], "(_FORTIFY_SOURCE)"),
    (["-Wl,-rpath,/tmp"], "(RUNPATH)"),
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "p.c")
        source.write_text(SOURCE, encoding="ascii")
        for number, (words, named) in enumerate(CASES):
            program = pathlib.Path(folder, f"p{number}")
            r = subprocess.run(["cc", str(source), "-o", str(program), *GOOD, *words], capture_output=True, text=True, check=False)
            assert r.returncode == 0, (words, r.stderr)
            found = check_elf.missing(check_elf.Elf(program), False)
            print(words, found)
            assert not found if named is None else any(named in f for f in found), (words, found)
        plain = check_elf.Elf(pathlib.Path(folder, "p0"))
        code = next(i for i, s in enumerate(plain.segments) if s[0] == check_elf.PT_LOAD and s[1] & 1)
        plain.segments[code] = (check_elf.PT_LOAD, 7, *plain.segments[code][2:]) # no linker makes such a segment readily
        assert any("written and executed" in f for f in check_elf.missing(plain, False))
        # the property itself: an object has it with the flag only
        for flag, wanted in (("full", 3), ("none", 0)):
            made = pathlib.Path(folder, "p.o")
            r = subprocess.run(["cc", "-c", str(source), "-o", str(made), f"-fcf-protection={flag}"], capture_output=True, text=True, check=False)
            if r.returncode:
                continue # not of this processor
            assert check_elf.Elf(made).features() & 3 == wanted, flag
        assert "no mark" in check_elf.missing(check_elf.Elf(pathlib.Path(folder, "p0")), True)[-1] or check_elf.c_library_marks()
    return 0


sys.exit(main())
