"use strict";
// rows.js - the lower picture: a row for each initcall, device, script, unit and process, drawn as far as it is in sight.
const ROW = 20;
R.groups = { initcalls: false, devices: false, scripts: true, units: true, processes: true }; // open?
R.rows = [];

const matches = (...texts) => !R.query || texts.some((t) => t && (t.toLowerCase().includes(R.query) || R.plain(t).toLowerCase().includes(R.query)));
const isScript = (p) => /^\/scripts\/|dracut\/hooks/.test(p.label);

const treeOrder = () => { // parents before their children, by start
  const order = [], visit = (i, depth) => {
    order.push([i, depth]);
    R.children[i].sort((a, b) => R.data.processes[a].start - R.data.processes[b].start).forEach((c) => visit(c, depth + 1));
  };
  R.data.processes.forEach((p, i) => { if (p.parent < 0) visit(i, 0); });
  return order;
};

R.buildRows = () => {
  const d = R.data, least = R.query ? 0 : R.least, rows = [];
  const group = (key, name, list) => {
    if (!list.length) return;
    rows.push({ group: key, label: `${name}  ${list.length}` });
    if (R.groups[key] || R.query) rows.push(...list);
  };
  R.order = R.order || treeOrder();
  if (!R.onlyPath)
    group("initcalls", "Initcalls", d.initcalls.map((c, i) => ({ kind: "initcall", index: i, label: c.name, depth: 0, start: c.start, end: c.end }))
      .filter((r) => r.end - r.start >= least / 5 && matches(r.label)));
  if (!R.onlyPath)
    group("devices", "Devices", d.devices.map((v, i) => ({ kind: "device", index: i, label: v.name, depth: 0, start: v.start, end: v.end }))
      .filter((r) => r.end - r.start >= least / 5 && matches(r.label, d.devices[r.index].driver, d.devices[r.index].supplier)));
  const row = ([i, depth]) => { const p = d.processes[i]; return { kind: "process", index: i, label: p.label, depth, start: p.start, end: p.end, path: R.pathProcesses.has(i) }; };
  const wanted = ([i]) => { const p = d.processes[i]; return p.end - p.start >= least && matches(p.label, p.command, R.unitName(p.unit)) && (!R.onlyPath || R.pathProcesses.has(i)); };
  group("scripts", "Scripts of the initramfs", R.order.filter((o) => isScript(d.processes[o[0]]) && wanted(o)).map((o) => ({ ...row(o), depth: 0 })));
  group("units", "Units", d.units.map((u, i) => ({ kind: "unit", index: i, label: u.name, depth: 0, ...(({ start, end }) => ({ start, end }))(R.unitSpan(i)), path: R.pathUnits.has(u.name) }))
    .filter((r) => r.start > 0 && r.end - r.start >= Math.min(least, 2) && matches(r.label) && (!R.onlyPath || r.path)).sort((a, b) => a.start - b.start));
  group("processes", "Processes", R.order.filter(wanted).map(row));
  R.rows = rows;
  R.get("space").style.height = Math.max(0, rows.length * ROW + 12 - R.get("scroll").clientHeight) + "px";
};

const drawUnit = (g, u, y, width) => {
  const start = u.activating || u.queued || u.active || u.done, x0 = R.x(start, width), x1 = R.x(Math.max(u.done, start), width);
  if (u.active) {
    g.fillStyle = R.color("unit-on");
    const until = R.x(u.inactive > u.active ? u.inactive : R.last, width);
    g.fillRect(x1, y + 4, Math.max(0, until - x1), ROW - 8);
  }
  g.fillStyle = R.color(u.failed || (u.job && u.job !== "done") ? "bad" : "unit");
  g.fillRect(x0, y + 3, Math.max(2, x1 - x0), ROW - 6);
  return [x0, x1];
};
const drawProcess = (g, p, y, width) => {
  const x0 = R.x(p.start, width), x1 = R.x(p.end, width);
  g.fillStyle = isScript(p) ? R.color("script") : R.color("process");
  g.globalAlpha = p.there || p.lives ? 0.45 : 0.8;
  g.fillRect(x0, y + 4, Math.max(1.5, x1 - x0), ROW - 8);
  g.globalAlpha = 1;
  for (const w of R.waitsOf[p.index]) { // what it waited for, where that took long enough to be seen
    const a = R.x(w[3], width), b = R.x(w[4], width);
    if (b - a < 1.5 || b < R.gutter() || a > width || R.states[w[5]] === "other") continue;
    g.fillStyle = R.color(R.states[w[5]]);
    g.fillRect(a, y + 6, b - a, ROW - 12);
  }
  return [x0, x1];
};

const PROBE_COLORS = { taken: "good", "put off": "lock", failed: "bad", "not ended": "bad", "not its own": "process" };
const drawDevice = (g, v, y, width) => {
  const x0 = R.x(v.start, width), x1 = R.x(v.end, width);
  if (v.waited) { g.fillStyle = R.color("faint"); g.fillRect(x0, y + 8, Math.max(1, R.x(v.ready || R.bootEnd, width) - x0), ROW - 16); }
  for (const p of v.probes) { g.fillStyle = R.color(PROBE_COLORS[R.probeSays(p)]); const a = R.x(p.start, width); g.fillRect(a, y + 4, Math.max(1.5, R.x(p.end, width) - a), ROW - 8); }
  return [x0, x1];
};

R.drawRows = () => {
  const scroll = R.get("scroll"), { g, width, height } = R.canvas(R.get("rows"), scroll.clientHeight);
  const top = scroll.scrollTop, first = Math.floor(top / ROW), last = Math.min(R.rows.length, first + Math.ceil(height / ROW) + 1), gutter = R.gutter();
  g.fillStyle = R.color("faint");
  for (const at of R.ticks().list) g.fillRect(R.x(at, width), 0, 1, height);
  if (R.bootEnd) { g.fillStyle = R.color("good"); g.fillRect(R.x(R.bootEnd, width), 0, 1.5, height); }
  for (let i = first; i < last; i++) {
    const r = R.rows[i], y = i * ROW - top + 2;
    const on = R.chosen && r.kind === R.chosen.kind && r.index === R.chosen.index;
    if (on || r === R.hover) { g.fillStyle = R.color(on ? "accent-soft" : "faint"); g.fillRect(0, y, width, ROW); }
    if (r.group) {
      g.fillStyle = R.color("faint"); g.fillRect(0, y, width, ROW);
      g.fillStyle = R.color("soft"); g.font = "600 12px system-ui, sans-serif";
      g.fillText((R.groups[r.group] || R.query ? "▾  " : "▸  ") + r.label, 10, y + ROW / 2);
      g.font = "12px system-ui, sans-serif";
      continue;
    }
    if (r.path) { g.fillStyle = R.color("path"); g.fillRect(0, y + 2, 3, ROW - 4); }
    g.fillStyle = R.color("ink");
    const indent = 12 + Math.min(r.depth, 9) * 10;
    g.fillText(R.fit(g, R.plain(r.label), gutter - indent - 8), indent, y + ROW / 2);
    g.save(); g.beginPath(); g.rect(gutter, y, width - gutter, ROW); g.clip();
    let ends;
    if (r.kind === "unit") ends = drawUnit(g, R.data.units[r.index], y, width);
    else if (r.kind === "process") ends = drawProcess(g, R.data.processes[r.index], y, width);
    else if (r.kind === "device") ends = drawDevice(g, R.data.devices[r.index], y, width);
    else { ends = [R.x(r.start, width), R.x(r.end, width)]; g.fillStyle = R.color("initcall"); g.fillRect(ends[0], y + 4, Math.max(1.5, ends[1] - ends[0]), ROW - 8); }
    const text = R.time(r.end - r.start), room = g.measureText(text).width;
    g.fillStyle = R.color("soft");
    if (ends[1] < gutter) g.fillText(`◂ ${text}`, gutter + 6, y + ROW / 2); // it lies before what is shown
    else if (ends[0] > width) g.fillText(`${text} ▸`, width - room - 22, y + ROW / 2);
    else if (ends[1] + 6 + room < width) g.fillText(text, Math.max(gutter, ends[1]) + 6, y + ROW / 2);
    g.restore();
  }
  if (!R.rows.length) { g.fillStyle = R.color("soft"); g.fillText(R.query ? `Nothing has "${R.query}" in its name.` : "Nothing is longer than that.", 16, 24); }
};
R.rowAt = (y) => R.rows[Math.floor((y + R.get("scroll").scrollTop - 2) / ROW)] || null;
R.rowText = (r) => {
  if (!r || r.group) return null;
  const d = R.data;
  if (r.kind === "unit") { const u = d.units[r.index]; return `${u.name}\n${R.at(r.start)} to ${R.at(r.end)}: ${R.time(r.end - r.start)}${u.job && u.job !== "done" ? "\njob: " + u.job : ""}`; }
  if (r.kind === "initcall") return `${r.label}\n${R.at(r.start)}: ${R.time(r.end - r.start)}, result ${d.initcalls[r.index].result}`;
  if (r.kind === "device") { const v = d.devices[r.index]; return `${v.name} (${v.bus})\n${v.driver}: ${R.probeSays(v.probes[v.probes.length - 1])}${v.waited ? `\nput off ${R.times(v.deferrals)}, ${R.time(v.waited)}` : ""}`; }
  const p = d.processes[r.index];
  return `${p.command || p.label}\n${R.at(p.start)} to ${p.lives ? "the end" : R.at(p.end)}: ${R.time(p.end - p.start)}${p.unit >= 0 ? "\n" + R.unitName(p.unit) : ""}`;
};
R.reveal = () => { // the chosen row, in sight
  const i = R.rows.findIndex((r) => R.chosen && r.kind === R.chosen.kind && r.index === R.chosen.index), scroll = R.get("scroll");
  if (i >= 0 && (i * ROW < scroll.scrollTop || (i + 1) * ROW > scroll.scrollTop + scroll.clientHeight)) scroll.scrollTop = i * ROW - scroll.clientHeight / 3;
};
