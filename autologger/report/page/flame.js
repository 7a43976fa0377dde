"use strict";
// flame.js - flame graphs, on processors and waiting, of the chosen range and of the chosen unit or process.
R.flame = { kind: "waiting", top: null, boxes: [] };
const FRAME = 18;

R.flameCells = () => { // [stack, process, bin, weight] that are asked about
  const s = R.data.stacks, list = (R.flame.kind === "waiting" ? s.waiting : s.onCpu) || [], chosen = R.chosen, range = R.range;
  const of = chosen && chosen.kind === "process" ? (p) => p === chosen.index : chosen && chosen.kind === "unit" ? (p) => p >= 0 && R.data.processes[p].unit === chosen.index : null;
  if (!chosen && R.flame.kind === "waiting" && !R.flame.everything) return list.filter((c) => R.onPath(c[1]) && (!range || ((c[2] + 1) * s.width > range[0] && c[2] * s.width < range[1])));
  return list.filter((c) => (!of || of(c[1])) && (!range || ((c[2] + 1) * s.width > range[0] && c[2] * s.width < range[1])));
};
R.onPath = (p) => p >= 0 && (R.pathProcesses.has(p) || R.pathUnits.has(R.unitName(R.data.processes[p].unit))); // most of all others only sleep
R.flameTree = () => {
  const s = R.data.stacks, root = { name: "all", weight: 0, self: 0, below: new Map() };
  const byProcess = !(R.chosen && R.chosen.kind === "process");
  const step = (node, name, weight) => {
    let next = node.below.get(name);
    if (!next) node.below.set(name, (next = { name, weight: 0, self: 0, below: new Map() }));
    next.weight += weight;
    return next;
  };
  for (const [stack, process, , weight] of R.flameCells()) {
    let node = root;
    root.weight += weight;
    if (byProcess) node = step(node, process >= 0 ? R.data.processes[process].label : "(not known)", weight);
    const frames = s.stacks[stack];
    for (let i = frames.length; i-- > 0;) { // a broken chain repeats what has no name: once is enough
      const name = s.frames[frames[i]];
      if (!(name.endsWith("!?") && node.name === name)) node = step(node, name, weight);
    }
    node.self += weight;
  }
  return root;
};
R.flameWeight = (n) => (R.flame.kind === "waiting" ? R.time(n) : `${Math.round(n)} samples`);

const frameColor = (name) => { // warm for the kernel, cool for programs, even over runs
  const kernel = /^(vmlinux|\[?kernel|[a-z0-9_]+)!/.test(name) && !/\.so|\//.test(name.split("!")[0]) && name.startsWith("vmlinux");
  let h = 0;
  for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
  const dark = document.documentElement.dataset.theme === "dark", unknown = name.endsWith("!?");
  return unknown ? (dark ? "#3a4049" : "#dcdcd6") : `hsl(${kernel ? 24 + (h % 18) : 200 + (h % 40)} ${dark ? 28 : 42}% ${dark ? 34 + (h % 7) : 76 + (h % 9)}%)`;
};
R.drawFlame = () => {
  const root = R.flameTree(), canvas = R.get("flames"), f = R.flame;
  const from = f.top ? f.top.reduce((node, name) => node && node.below.get(name), root) || root : root;
  if (from === root) f.top = null;
  const depth = (node, n) => Math.max(n, ...[...node.below.values()].map((c) => (c.weight < from.weight / 2000 ? n : depth(c, n + 1))));
  const levels = from.weight ? Math.min(64, depth(from, 1)) : 2, { g, width } = R.canvas(canvas, Math.max(60, levels * (FRAME + 1)));
  f.boxes = [];
  const put = (node, x, level, room, path) => {
    if (room < 0.6 || level > 64) return;
    const y = level * (FRAME + 1);
    g.fillStyle = frameColor(node.name);
    g.fillRect(x, y, Math.max(0.6, room - 0.7), FRAME);
    if (room > 30) { g.fillStyle = R.color("ink"); g.fillText(R.fit(g, node.name, room - 8), x + 4, y + FRAME / 2); }
    f.boxes.push({ x, y, room, node, path });
    let at = x;
    for (const child of [...node.below.values()].sort((a, b) => b.weight - a.weight)) {
      const part = (child.weight / node.weight) * room;
      put(child, at, level + 1, part, [...path, child.name]);
      at += part;
    }
  };
  if (from.weight) put(from, 0, 0, width, f.top || []);
  else { g.fillStyle = R.color("soft"); g.fillText(R.flameEmpty(), 4, 24); }
  const some = R.chosen && R.chosen.kind !== "initcall";
  const what = some ? ` of ${R.item().name || R.item().label}` : R.flame.kind === "waiting" && !R.flame.everything ? " of what is on the critical path" : "";
  R.get("flame-all").classList.toggle("hidden", some || R.flame.kind !== "waiting");
  R.get("flame-what").textContent = `${R.flameWeight(root.weight)}${what}${R.range ? `, ${R.at(R.range[0])} to ${R.at(R.range[1])}` : ""}`;
  R.get("flame-top").classList.toggle("hidden", !f.top);
  R.get("range-clear").classList.toggle("hidden", !R.range);
  R.functions(root);
};
R.flameEmpty = () => (R.flame.kind === "waiting"
  ? (R.data.stacks.waiting.length ? "No wait with a stack here." : "The trace has no stacks of context switches (StackWalkingFilter = CSwitch).")
  : (R.data.stacks.onCpu.length ? "No sample with a stack here." : "The trace has no samples (EnableKernelFlags PROFILE, StackWalkingFilter = Profile)."));
R.functions = (root) => { // by what they took themselves, and with all that they called
  const rows = new Map(), seen = new Set();
  const walk = (node) => {
    const first = !seen.has(node.name);
    const r = rows.get(node.name) || { name: node.name, self: 0, all: 0 };
    rows.set(node.name, r);
    r.self += node.self;
    if (first) { r.all += node.weight; seen.add(node.name); }
    node.below.forEach(walk);
    if (first) seen.delete(node.name);
  };
  root.below.forEach(walk);
  const list = [...rows.values()].sort((a, b) => b.self - a.self || b.all - a.all).slice(0, 60);
  R.get("functions").replaceChildren(R.make("table", {}, R.make("thead", {}, R.make("tr", {}, R.make("th", {}, "function"), R.make("th", {}, "itself"), R.make("th", {}, "with what it called"))),
    R.make("tbody", {}, ...list.map((r) => R.make("tr", {}, R.make("td", { class: "mono" }, r.name), R.make("td", {}, R.flameWeight(r.self)), R.make("td", {}, R.flameWeight(r.all)))))));
};
R.flameBox = (x, y) => R.flame.boxes.filter((b) => x >= b.x && x < b.x + b.room && y >= b.y && y < b.y + FRAME).pop();
