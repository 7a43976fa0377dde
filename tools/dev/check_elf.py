#!/usr/bin/env python3
"""What protects the programs and libraries that are installed, as their files say it (config/hardening.cmake is what asks for it).

Usage: check_elf.py --build BUILD_DIR    installs into a folder of its own, and reads every ELF file there, and the objects they were made of
       check_elf.py FILE...              reads these
Exit codes: 0 fine, 1 something is missing (each is named), 100 called wrongly.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ET_DYN = 3
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 3, 0x6474E551, 0x6474E552
DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_TEXTREL, DT_RUNPATH, DT_FLAGS, DT_FLAGS_1 = 5, 6, 10, 14, 15, 22, 29, 30, 0x6FFFFFFB
SHT_NOTE, SHT_DYNSYM = 7, 11
PROPERTY_NOTE, X86_FEATURES, IBT, SHSTK = 5, 0xC0000002, 1, 2
# compiler options of each file of an installed program; options that a compiler may lack are looked up
FLAGS = ["-fstack-protector-strong", "-fstack-clash-protection", "-ftrivial-auto-var-init=zero", "-fcf-protection=full"]


class Elf:
    """A file of 64 bits, little-endian; sizes and offsets are not trusted: content outside the file does not exist."""

    def __init__(self, path):
        self.path, self.data = str(path), pathlib.Path(path).read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: no ELF file of 64 bits")
        self.type, self.machine, _, _, phoff, shoff, _, _, phsize, phnum, shsize, shnum, _ = struct.unpack_from("<HHIQQQIHHHHHH", self.data, 16)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * phsize) for i in range(phnum)]
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shsize) for i in range(shnum)] if shoff else []
        self.dynamic = self.pairs()

    def pairs(self):
        found = {}
        for kind, _, offset, _, _, size, _, _ in self.segments:
            for at in range(offset, offset + size, 16) if kind == PT_DYNAMIC else ():
                tag, value = struct.unpack_from("<QQ", self.data, at)
                if tag == 0:
                    break
                found[tag] = value
        return found

    def segment(self, wanted):
        return next((s for s in self.segments if s[0] == wanted), None)

    def at(self, address):
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return offset + address - start
        return 0

    def imports(self):
        """Names of dynamic symbols that the file does not define itself."""
        names = set()
        texts = self.at(self.dynamic.get(DT_STRTAB, 0))
        for _, kind, _, _, offset, size, *_ in self.sections:
            for at in range(offset, offset + size, 24) if kind == SHT_DYNSYM else ():
                name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", self.data, at)
                if section == 0 and name:
                    end = self.data.index(b"\0", texts + name)
                    names.add(self.data[texts + name:end].decode())
        return names

    def features(self):
        """Bits of the x86 feature property; 0 without it."""
        for _, kind, _, _, offset, size, *_ in self.sections:
            at = offset
            while kind == SHT_NOTE and at + 16 <= offset + size:
                name_size, length, what = struct.unpack_from("<III", self.data, at)
                body = at + 12 + (name_size + 3 & ~3)
                if what == PROPERTY_NOTE and self.data[at + 12:at + 16] == b"GNU\0":
                    inner = body
                    while inner + 12 <= body + length:
                        kind_of, n, bits = struct.unpack_from("<III", self.data, inner)
                        if kind_of == X86_FEATURES:
                            return bits
                        inner += 8 + (n + 7 & ~7)
                at = body + (length + 7 & ~7)
        return 0

    def is_for_link_time(self):
        return b".gnu.lto_" in self.data


def missing(elf, marks):
    """The protections that a program or library lacks, in words. marks: its C library marks valid jump targets, so it can do so too."""
    out, dynamic = [], elf.dynamic
    # a library that a program loads at run time has no name of its own; it is bound to others, and no program
    library = DT_SONAME in dynamic or bool(dynamic) and not elf.segment(PT_INTERP) and not dynamic.get(DT_FLAGS_1, 0) & 0x08000000
    static = not library and not elf.segment(PT_INTERP)
    if elf.type != ET_DYN or not (library or dynamic.get(DT_FLAGS_1, 0) & 0x08000000):
        out.append("its address is not chosen at each start (PIE)")
    if not elf.segment(PT_GNU_RELRO):
        out.append("no RELRO")
    if not (dynamic.get(DT_FLAGS, 0) & 8 or dynamic.get(DT_FLAGS_1, 0) & 1):
        out.append("addresses are not bound at the start (NOW)")
    stack = elf.segment(PT_GNU_STACK)
    if not stack or stack[1] & 1:
        out.append("its stack can be executed")
    if any(s[0] == PT_LOAD and s[1] & 3 == 3 for s in elf.segments):
        out.append("memory that can be written and executed")
    if DT_TEXTREL in dynamic or dynamic.get(DT_FLAGS, 0) & 4:
        out.append("its code is changed at the start (TEXTREL)")
    if DT_RPATH in dynamic or DT_RUNPATH in dynamic:
        out.append("it names folders for its libraries (RUNPATH)")
    if not static: # a static program has no names; its compiler options are checked instead
        names = elf.imports()
        if "__stack_chk_fail" not in names:
            out.append("no stack protector")
        if not any(name.endswith("_chk") for name in names):
            out.append("no call of the C library that checks sizes (_FORTIFY_SOURCE)")
    if marks and elf.features() & (IBT | SHSTK) != IBT | SHSTK:
        out.append("no mark of -fcf-protection (IBT, SHSTK)")
    return out


def c_library_marks():
    """A program has the marks only if all its objects have them. Debian 12's start files lack them."""
    for name in ("Scrt1.o", "crti.o"):
        path = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=False).stdout.strip()
        if not pathlib.Path(path).is_file() or Elf(path).features() & (IBT | SHSTK) != IBT | SHSTK:
            return False
    return True


def of_installed(path):
    """Does this object belong to an installed file? Those of tests, their programs and the benches do not."""
    return not any(word in "/" + path for word in ("/tests/", "/boot-tests/", "bench", "make_traces", "fake_", ".test_", "static_boot"))


def compiled(build):
    """Files with wrong compiler options, and wrong objects."""
    out, objects, rows = [], 0, json.loads((build / "compile_commands.json").read_text())
    cache = (build / "CMakeCache.txt").read_text()
    # config/hardening.cmake asks the compiler; clang needs a second word for some options
    taken = [f for f in FLAGS if re.search(rf"^AL_TAKES{re.sub('[-=]', '_', f)}\w*:INTERNAL=1$", cache, re.M)]
    for words in (row["command"].split() for row in rows):
        made = words[words.index("-o") + 1]
        if not of_installed(made):
            continue
        absent = [f for f in taken + ["-D_FORTIFY_SOURCE=3"] if f not in words]
        if absent or not any(w in words for w in ("-O1", "-O2", "-O3", "-Os")):
            out.append(f"{made}: compiled without {' '.join(absent) or 'optimisation'}")
        if (build / made).is_file():
            elf = Elf(build / made)
            objects += 1
            if "-fcf-protection=full" in taken and not elf.is_for_link_time() and elf.features() & (IBT | SHSTK) != IBT | SHSTK:
                out.append(f"{made}: no mark of -fcf-protection (IBT, SHSTK)")
    if len(taken) < 3 or objects < 100:
        out.append(f"{build}: {len(taken)} flags and {objects} objects were looked at, which is too few")
    return out


def installed(build):
    """Every ELF file of an installation, read; and their number."""
    out, count, marks = [], 0, c_library_marks()
    with tempfile.TemporaryDirectory() as folder:
        r = subprocess.run(["cmake", "--install", str(build), "--prefix", folder], capture_output=True, text=True, check=False)
        if r.returncode:
            return [f"cmake --install: {r.stderr.strip()}"], 0
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                count += 1
                out += [f"{path.relative_to(folder)}: {what}" for what in missing(Elf(path), marks)]
    return out, count


def main():
    if len(sys.argv) < 2 or (sys.argv[1] == "--build" and len(sys.argv) != 3):
        print(__doc__, file=sys.stderr)
        return 100
    if sys.argv[1] == "--build":
        build = pathlib.Path(sys.argv[2])
        wrong, count = installed(build)
        wrong += compiled(build) + ([] if count >= 10 else [f"{build}: {count} programs and libraries are installed, which is too few"])
    else:
        marks, count = c_library_marks(), len(sys.argv) - 1
        wrong = [f"{path}: {what}" for path in sys.argv[1:] for what in missing(Elf(path), marks)]
    for line in wrong:
        print(line)
    print(f"{count} files read, {len(wrong)} protections missing")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
