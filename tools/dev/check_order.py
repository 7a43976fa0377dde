#!/usr/bin/env python3
"""Two reads of one cursor must not stand where C leaves their order open: in one initialiser list, in one argument list, or on both sides of an
operator. gcc and clang order them differently, and no compiler warns.

Usage: check_order.py [SOURCE_DIR]. Exit codes: 0 fine, 1 an order is open.
A read is a call of a function that advances its argument: a cursor, a writer, or a pointer to a pointer (STATEFUL). Two calls collide if both get the
same such argument. `&&`, `||`, `?:`, the comma operator and the commas between declarations do order them.
"""
import pathlib
import re
import subprocess
import sys

# Types of a parameter that a function advances. A const one is only read.
STATEFUL = re.compile(r"^(?:struct (?:cursor|writer) \*|(?:const )?(?:uint8_t|char|void|unsigned char|uint16_t|wchar_t) \* ?(?:const )?\*)")
# Functions defined by macros of registry-sim/base/cursor.h.
MADE = {"cur_u8": {0}, "cur_u16": {0}, "cur_u32": {0}, "cur_u64": {0}}
TOKEN = re.compile(r"[A-Za-z_]\w*|\.?\d[\w.]*|->|&&|\|\||[-+*/%&|^<>=!]=|<<=?|>>=?|\+\+|--|\.\.\.|\S")
NOISE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
FUNCTION = re.compile(r"^[A-Za-z_][\w \t*]*?[ \t*](\w+)\(([^(){};]*)\)\s*[{;]", re.M)
OPENS, CLOSES = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
STATEMENTS = {"if", "for", "while", "switch"}
KEYWORDS = STATEMENTS | {"return", "sizeof", "do", "else", "case", "alignof", "_Alignof", "_Static_assert", "typeof"}


def sources(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
    return sorted(n for n in set(names) if n.endswith((".c", ".h")) and not n.startswith("build/") and (root / n).is_file())


def bare(text):
    """The text without comments, and with empty strings; line numbers are kept."""
    def replaced(m):
        return ('""' if m.group()[0] == '"' else "0" if m.group()[0] == "'" else " ") + "\n" * m.group().count("\n")
    return NOISE.sub(replaced, text)


def stateful(text):
    """{function: indexes of the parameters that it advances} for the functions that the text declares or defines."""
    found = {}
    for name, parameters in FUNCTION.findall(text):
        places = {i for i, p in enumerate(parameters.split(",")) if STATEFUL.match(" ".join(p.split()).replace("* *", "**"))}
        found[name] = places
    return found


def tokens(text):
    """[(token, line)]; without directives, but with the replacement text of #define."""
    found, line = [], 1
    for at in text.replace("\\\n", "\\\f").split("\n"):
        code = re.sub(r"^\s*#\s*define\s+\w+(\([^)]*\))?|^\s*#(?!\s*define).*", ";", at, flags=re.S)
        for part in code.replace("\\\f", "\f").split("\f"):
            found += [(t, line) for t in TOKEN.findall(part)]
            line += 1
        if code != at:
            found.append((";", line - 1))
    return found


class File:
    def __init__(self, name, text, moves):
        self.name, self.tokens, self.moves, self.wrong = name, tokens(text), moves, []
        self.partner, open_at = {}, []
        for i, (t, _) in enumerate(self.tokens):
            if t in OPENS:
                open_at.append(i)
            elif t in CLOSES and open_at:
                self.partner[open_at.pop()] = i

    def is_list(self, i):
        """The "{" at i begins an initialiser, not a block."""
        before = self.tokens[i - 1][0] if i else ";"
        if before == ")":  # (struct x){...}, but not if (...) {, nor f(...) {
            begin = next((b for b, e in self.partner.items() if e == i - 1), 0)
            ahead = self.tokens[begin - 1][0] if begin else ";"
            return not re.match(r"\w", ahead) or ahead == "return"
        return before in ("=", ",", "{", "(", "]") and (before not in "{" or self.is_list(i - 1))

    def split(self, begin, end, at):
        """The parts between tokens in `at` at the top level of [begin, end)."""
        part, i = begin, begin
        while i < end:
            t = self.tokens[i][0]
            if t in at:
                yield part, i
                part = i + 1
            i = self.partner.get(i, i) + 1 if t in OPENS else i + 1
        yield part, end

    def apart(self, parts):
        """Parts in no order: returns what they advance; two parts that advance the same argument are an error."""
        had = {}
        for begin, end in parts:
            for key, line in self.moved(begin, end).items():
                if key in had:
                    self.wrong.append((had[key], key))
                had.setdefault(key, line)
        return had

    def arguments(self, name, begin, end):
        parts = list(self.split(begin, end, {","}))
        had = self.apart(parts)
        for place in self.moves.get(name, ()):
            if place < len(parts):
                key = "".join(t for t, _ in self.tokens[slice(*parts[place])])
                had.setdefault(key.lstrip("&"), self.tokens[begin - 1][1])
        return had

    def operand(self, begin, end):
        """An expression of operators that do not order their operands."""
        had, i = {}, begin
        while i < end:
            t, line = self.tokens[i]
            now = {}
            if t in OPENS and i in self.partner:
                close, before = self.partner[i], self.tokens[i - 1][0] if i else ";"
                if t == "(" and re.match(r"[A-Za-z_]", before) and before not in KEYWORDS:
                    now = self.arguments(before, i + 1, close)
                elif t == "{":
                    now = self.apart(self.split(i + 1, close, {","}))
                elif before in STATEMENTS:  # the bracket is followed by a statement of its own
                    self.moved(i + 1, close)
                else:
                    now = self.moved(i + 1, close)
                i = close
            for key, at in now.items():
                if key in had:
                    self.wrong.append((at, key))
                had[key] = at
            i += 1
        return had

    def moved(self, begin, end):
        """What an expression advances; its parts between ordering operators are in order."""
        had = {}
        for part in self.split(begin, end, {"&&", "||", "?", ":", ",", ";"}):
            had.update(self.operand(*part))
        return had

    def check(self):
        """Statement by statement: blocks are descended into, lists are part of their expression."""
        i, begin, last = 0, 0, len(self.tokens)
        while i < last:
            t = self.tokens[i][0]
            if t == "{" and not self.is_list(i):
                self.moved(begin, i)
                begin = i + 1
            elif t in (";", "}"):
                self.moved(begin, i)
                begin = i + 1
            elif t in OPENS and i in self.partner:
                i = self.partner[i]
            i += 1
        self.moved(begin, last)
        return sorted(set(self.wrong))



def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    texts = {name: bare((root / name).read_text(encoding="utf-8", errors="replace")) for name in sources(root)}
    shared = dict(MADE)
    for name, text in texts.items():
        if name.endswith(".h"):
            shared.update(stateful(text))
    wrong, calls = [], 0
    for name, text in texts.items():
        moves = {f: places for f, places in {**shared, **stateful(text)}.items() if places}
        calls += len(re.findall(r"\b(?:%s)\(" % "|".join(moves), text))
        wrong += [f"{name}:{line}: `{key}` is moved on twice in no certain order. Do: read into variables, one statement each"
                  for line, key in File(name, text, moves).check()]
    print("\n".join(wrong))
    print(f"check_order: {calls} reads in {len(texts)} files, {len(wrong)} in no certain order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
