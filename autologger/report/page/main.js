"use strict";
// main.js - ties the parts together: pointer, wheel, keys, search, theme; draws at most once a frame.
const draw = { lanes: () => R.drawLanes(), rows: () => R.drawRows(), flame: () => R.drawFlame() };
const wanted = new Set();
const redraw = (...what) => {
  if (!wanted.size) requestAnimationFrame(() => { const now = [...wanted]; wanted.clear(); now.forEach((w) => draw[w]()); });
  what.forEach((w) => wanted.add(w));
};
const tip = (text, e) => {
  const at = R.get("tip");
  at.classList.toggle("hidden", !text);
  if (!text) return;
  at.textContent = text;
  at.style.left = Math.min(e.clientX + 14, window.innerWidth - at.offsetWidth - 12) + "px";
  at.style.top = (e.clientY + 18 + at.offsetHeight > window.innerHeight ? e.clientY - at.offsetHeight - 12 : e.clientY + 18) + "px";
};

const onWheel = (canvas) => (e) => {
  const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey, v = R.view, span = v.to - v.from;
  if (sideways) { const by = ((e.shiftKey ? e.deltaY : e.deltaX) / canvas.clientWidth) * span; R.show(v.from + by, v.to + by); }
  else if (e.ctrlKey || e.metaKey || e.altKey || canvas === R.get("lanes")) R.zoom(Math.exp(e.deltaY * 0.002), R.ms(e.offsetX, canvas.clientWidth));
  else return; // the list scrolls
  e.preventDefault();
};
const lanesPointer = () => {
  const c = R.get("lanes");
  c.addEventListener("wheel", onWheel(c), { passive: false });
  c.addEventListener("pointerdown", (e) => { if (e.offsetX < R.gutter()) return; const at = R.ms(e.offsetX, c.clientWidth); R.dragging = [at, at]; c.setPointerCapture(e.pointerId); });
  c.addEventListener("pointermove", (e) => { if (R.dragging) { R.dragging[1] = R.ms(Math.max(R.gutter(), e.offsetX), c.clientWidth); redraw("lanes"); } else tip(R.laneAt(e.offsetX, e.offsetY, c.clientWidth), e); });
  c.addEventListener("pointerup", (e) => {
    if (!R.dragging) return;
    const [a, b] = R.dragging, wide = Math.abs(R.x(a, c.clientWidth) - R.x(b, c.clientWidth)) > 4;
    R.dragging = null;
    if (wide) R.choose.range(a, b); else if (R.range) R.choose.range(null); else { const s = R.data.criticalPath.find((p) => !p.depth && a >= p.start && a < p.end); if (s && s.unit && R.units.has(s.unit)) R.choose("unit", R.units.get(s.unit)); }
    redraw("lanes");
    void e;
  });
  c.addEventListener("dblclick", () => { if (R.range) R.show(R.range[0], R.range[1]); });
  c.addEventListener("pointerleave", () => tip(null));
};
const rowsPointer = () => {
  const c = R.get("rows");
  let held = null;
  c.addEventListener("wheel", onWheel(c), { passive: false });
  c.addEventListener("pointerdown", (e) => { held = { x: e.offsetX, y: e.offsetY, from: R.view.from, moved: false }; c.setPointerCapture(e.pointerId); });
  c.addEventListener("pointermove", (e) => {
    if (held) {
      const by = e.offsetX - held.x;
      held.moved = held.moved || Math.abs(by) > 3;
      if (held.moved) { const span = R.view.to - R.view.from, from = held.from - (by / (c.clientWidth - R.gutter())) * span; R.show(from, from + span); }
      return;
    }
    const row = R.rowAt(e.offsetY);
    if (row !== R.hover) { R.hover = row; redraw("rows"); }
    c.style.cursor = row ? "pointer" : "grab";
    tip(R.rowText(row), e);
  });
  c.addEventListener("pointerup", (e) => {
    const click = held && !held.moved, row = R.rowAt(e.offsetY);
    held = null;
    if (!click || !row) return;
    if (row.group) { R.groups[row.group] = !R.groups[row.group]; R.buildRows(); redraw("rows"); } else R.choose(row.kind, row.index);
  });
  c.addEventListener("dblclick", (e) => { const row = R.rowAt(e.offsetY); if (row && !row.group) R.choose(row.kind, row.index, true); });
  c.addEventListener("pointerleave", () => { R.hover = null; tip(null); redraw("rows"); });
  R.get("scroll").addEventListener("scroll", () => redraw("rows"));
};
const flamePointer = () => {
  const c = R.get("flames"), weigh = () => R.flame.boxes.length ? R.flame.boxes[0].node.weight : 0;
  c.addEventListener("pointermove", (e) => { const b = R.flameBox(e.offsetX, e.offsetY); tip(b && `${b.node.name}\n${R.flameWeight(b.node.weight)}, ${((b.node.weight / weigh()) * 100).toFixed(1)} %`, e); });
  c.addEventListener("pointerleave", () => tip(null));
  c.addEventListener("click", (e) => { const b = R.flameBox(e.offsetX, e.offsetY); if (b) { R.flame.top = b.path.length ? b.path : null; redraw("flame"); } });
  const kind = (k) => { R.flame.kind = k; R.flame.top = null; R.get("flame-wait").setAttribute("aria-selected", k === "waiting"); R.get("flame-cpu").setAttribute("aria-selected", k === "onCpu"); redraw("flame"); };
  R.get("flame-wait").onclick = () => kind("waiting");
  R.get("flame-cpu").onclick = () => kind("onCpu");
  R.get("flame-all").onclick = () => { R.flame.everything = !R.flame.everything; R.flame.top = null; pressed("flame-all", R.flame.everything); redraw("flame"); };
  R.get("flame-top").onclick = () => { R.flame.top = null; redraw("flame"); };
  R.get("range-clear").onclick = () => R.choose.range(null);
};

const nextRow = (step) => {
  const list = R.rows.filter((r) => !r.group), at = list.findIndex((r) => R.chosen && r.kind === R.chosen.kind && r.index === R.chosen.index);
  const row = list[Math.max(0, Math.min(list.length - 1, at + step))];
  if (row) R.choose(row.kind, row.index);
};
const pan = (part) => { const span = R.view.to - R.view.from; R.show(R.view.from + part * span, R.view.to + part * span); };
const pressed = (id, on) => R.get(id).setAttribute("aria-pressed", on ? "true" : "false");
const theme = (name) => { document.documentElement.dataset.theme = name; R.colors = {}; if (R.data) redraw("lanes", "rows", "flame"); };
let beforeKeys = null;
const keysShow = (on) => { // the focus goes there, and back to where it was
  const keys = R.get("keys"), inside = keys.contains(document.activeElement);
  if (on) beforeKeys = document.activeElement;
  keys.classList.toggle("hidden", !on);
  if (on) keys.focus({ preventScroll: true });
  else if (inside && beforeKeys && beforeKeys !== document.body) beforeKeys.focus({ preventScroll: true });
  else if (inside) keys.blur();
};
const KEYS = {
  "/": () => R.get("search").focus(), "+": () => R.zoom(0.6), "=": () => R.zoom(0.6), "-": () => R.zoom(1 / 0.6), 0: () => R.show(R.first, R.last), b: () => R.show(0, R.bootEnd * 1.02),
  ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), j: () => nextRow(1), k: () => nextRow(-1), ArrowDown: () => nextRow(1), ArrowUp: () => nextRow(-1),
  Enter: () => R.chosen && R.choose(R.chosen.kind, R.chosen.index, true), p: () => R.get("only-path").click(), d: () => R.get("panel").click(), t: () => R.get("theme").click(),
  "?": () => keysShow(R.get("keys").classList.contains("hidden")), Escape: () => { keysShow(false); R.choose.range(null); R.choose(null); },
};
const keyboard = () => document.addEventListener("keydown", (e) => {
  const typing = /INPUT|SELECT|TEXTAREA/.test(e.target.tagName), inPicture = e.target === R.get("rows") || e.target === R.get("lanes") || e.target === R.get("keys") || e.target === document.body;
  if (typing) { if (e.key === "Escape") { if (e.target.tagName === "INPUT") { e.target.value = ""; e.target.dispatchEvent(new Event("input")); } e.target.blur(); } return; }
  tip(null); // what the pointer was on may be elsewhere
  if (e.ctrlKey || e.metaKey || e.altKey || !KEYS[e.key] || ((e.key.startsWith("Arrow") || e.key === "Enter") && !inPicture)) return;
  KEYS[e.key]();
  e.preventDefault();
});
const paper = (name, steps) => { // at once: a printer does not wait for a frame
  document.documentElement.dataset.theme = name;
  R.colors = {};
  R.shortSteps = steps;
  R.drawPath();
  Object.values(draw).forEach((call) => call());
};
const controls = () => {
  const s = R.get("search");
  s.addEventListener("input", () => { R.query = s.value.trim().toLowerCase(); R.buildRows(); R.drawTable(); redraw("rows"); });
  R.get("zoom-in").onclick = () => R.zoom(0.6);
  R.get("zoom-out").onclick = () => R.zoom(1 / 0.6);
  R.get("fit").onclick = KEYS[0];
  R.get("fit-boot").onclick = KEYS.b;
  if (!R.data.ofBoot) { // a session has no boot to show
    delete KEYS.b;
    document.querySelectorAll(".of-boot").forEach((n) => n.classList.add("hidden"));
  }
  R.get("least").onchange = (e) => { R.least = Number(e.target.value); R.buildRows(); R.drawPath(); redraw("rows"); };
  R.get("only-path").onclick = () => { R.onlyPath = !R.onlyPath; pressed("only-path", R.onlyPath); R.buildRows(); redraw("rows"); };
  R.get("panel").onclick = () => { const wide = document.querySelector(".timeline").classList.toggle("wide"); pressed("panel", !wide); redraw("lanes", "rows"); };
  R.get("path-more").onclick = () => { R.shortSteps = !R.shortSteps; R.drawPath(); };
  R.get("print").onclick = () => window.print();
  let shown = null; // paper has light colours and all steps of the path
  window.addEventListener("beforeprint", () => { shown = [document.documentElement.dataset.theme, R.shortSteps]; paper("light", true); });
  window.addEventListener("afterprint", () => { if (shown) paper(...shown); shown = null; });
  R.get("help").onclick = KEYS["?"];
  document.querySelectorAll("#phases li").forEach((li) => { const go = () => { R.show(Number(li.dataset.start), Number(li.dataset.end)); R.toChart(); }; li.onclick = go; li.onkeydown = (e) => { if (e.key === "Enter") go(); }; });
  document.querySelectorAll("[data-unit], [data-process]").forEach((n) => { n.onclick = () => { const p = Number(n.dataset.process ?? -1); if (p >= 0) R.choose("process", p, true); else if (R.units.has(n.dataset.unit)) R.choose("unit", R.units.get(n.dataset.unit), true); else R.show(Number(n.dataset.from), Number(n.dataset.to)); R.toChart(); }; });
  const words = [["running", "processor busy"], ["runnable", "ready, no processor free"], ["unit", "unit starts"], ["unit-on", "unit is active"], ["process", "process"], ["script", "script"], ["disk", "blocked on a disk"], ["lock", "blocked by a lock"], ["network", "network"], ["sleep", "asleep"], ["child", "waits for a child"], ["path", "critical path"]];
  R.get("legend").replaceChildren(...words.map(([c, w]) => R.make("li", {}, R.make("i", { style: `background:var(--${c})` }), w)));
};

R.on("view", () => { R.get("window").textContent = `${R.at(R.view.from)} to ${R.at(R.view.to)}`; redraw("lanes", "rows"); });
R.on("range", () => redraw("lanes", "flame"));
R.on("chosen", () => { R.drawDetail(); R.flame.top = null; R.drawTable(); R.reveal(); redraw("lanes", "rows", "flame"); });

theme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
R.get("theme").onclick = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
requestAnimationFrame(() => setTimeout(async () => { // after the first paint
  R.prepare(await R.unpack("data"));
  controls();
  lanesPointer();
  rowsPointer();
  flamePointer();
  keyboard();
  R.flame.kind = R.data.stacks.waiting.length || !R.data.stacks.onCpu.length ? "waiting" : "onCpu";
  R.get("flame-wait").setAttribute("aria-selected", R.flame.kind === "waiting");
  R.get("flame-cpu").setAttribute("aria-selected", R.flame.kind === "onCpu");
  R.get("s-flame").classList.toggle("hidden", !R.data.stacks.waiting.length && !R.data.stacks.onCpu.length);
  R.buildRows();
  R.show(0, R.bootEnd * 1.02);
  R.drawPath();
  R.drawTable();
  R.drawCompare();
  R.drawMachine();
  redraw("flame");
  window.addEventListener("resize", () => { R.buildRows(); redraw("lanes", "rows", "flame"); });
  document.documentElement.dataset.ready = "yes";
}, 0));
