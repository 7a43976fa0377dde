"use strict";
// tables.js - the same figures as tables: units, processes, devices, disks, initcalls, events; the comparison; the machine and its configuration.
R.table = { which: "units", sort: null, down: true };
const timeColumns = R.states.map((s) => ({ name: s, value: (r) => (r.time && r.time[s]) || 0, show: R.time }));
const TABLES = {
  units: { name: "Units", kind: "unit", rows: () => R.data.units.map((u, i) => ({ ...u, index: i })).filter((u) => u.done || u.processes), match: (u) => [u.name],
    columns: [{ name: "unit", text: true, value: (u) => u.name }, { name: "start took", value: (u) => u.length, show: R.time, first: true }, { name: "began", value: (u) => u.activating || u.active, show: R.at }, ...timeColumns,
      { name: "processes", value: (u) => u.processes, show: String }, { name: "read", value: (u) => u.read, show: R.bytes }, { name: "written", value: (u) => u.written, show: R.bytes }] },
  processes: { name: "Processes", kind: "process", rows: () => R.data.processes, match: (p) => [p.label, p.command, R.unitName(p.unit)],
    columns: [{ name: "process", text: true, value: (p) => p.command || p.label }, { name: "took", value: (p) => p.end - p.start, show: R.time, first: true }, { name: "began", value: (p) => p.start, show: R.at },
      { name: "unit", text: true, value: (p) => R.unitName(p.unit) }, ...timeColumns, { name: "read", value: (p) => p.read, show: R.bytes }, { name: "written", value: (p) => p.written, show: R.bytes }] },
  initcalls: { name: "Initcalls", kind: "initcall", rows: () => R.data.initcalls.map((c, i) => ({ ...c, index: i })), match: (c) => [c.name],
    columns: [{ name: "initcall", text: true, value: (c) => c.name }, { name: "took", value: (c) => c.length, show: R.time, first: true }, { name: "began", value: (c) => c.start, show: R.at }, { name: "result", value: (c) => c.result, show: String }] },
  devices: { name: "Devices", kind: "device", rows: () => R.data.devices.map((v, i) => ({ ...v, index: i })), match: (v) => [v.name, v.driver, v.supplier],
    columns: [{ name: "device", text: true, value: (v) => v.name }, { name: "bus", text: true, value: (v) => v.bus }, { name: "driver", text: true, value: (v) => v.driver },
      { name: "longest probe", value: (v) => Math.max(...v.probes.map((p) => p.end - p.start)), show: R.time, first: true }, { name: "began", value: (v) => v.start, show: R.at }, { name: "ready", value: (v) => v.ready, show: (n) => (n ? R.at(n) : "") },
      { name: "put off", value: (v) => v.deferrals, show: String }, { name: "waited", value: (v) => v.waited, show: R.time }, { name: "for", text: true, value: (v) => v.supplier || v.reason }] },
  disks: { name: "Disks", rows: () => R.data.disks, match: (d) => ["disk " + d.number],
    columns: [{ name: "disk", text: true, value: (d) => "disk " + d.number }, { name: "busy", value: (d) => d.busy, show: R.time, first: true }, { name: "reads", value: (d) => d.reads, show: String }, { name: "writes", value: (d) => d.writes, show: String },
      { name: "read", value: (d) => d.read, show: R.bytes }, { name: "written", value: (d) => d.written, show: R.bytes }, { name: "a request took", value: (d) => d.waited / Math.max(1, d.reads + d.writes), show: R.time }, { name: "longest", value: (d) => d.longest, show: R.time }] },
  events: { name: "Marks, log, events", rows: () => R.data.events, match: (e) => [e.text, e.provider],
    columns: [{ name: "at", value: (e) => e.at, show: R.at, first: true, up: true }, { name: "from", text: true, value: (e) => e.provider || "kernel log" }, { name: "what", text: true, value: (e) => e.text }] },
};
R.drawTable = () => {
  const t = R.table, def = TABLES[t.which], sort = def.columns.find((c) => c.name === t.sort) || def.columns.find((c) => c.first);
  const down = t.sort ? t.down : !sort.up, shown = def.rows().filter((r) => matches(...def.match(r)));
  shown.sort((a, b) => { const x = sort.value(a), y = sort.value(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); });
  const head = def.columns.map((c) => R.make("th", { class: c.text ? "text" : null, scope: "col", "aria-sort": c === sort ? (down ? "descending" : "ascending") : null },
    R.make("button", { onclick: () => { t.down = c === sort ? !down : !c.text; t.sort = c.name; R.drawTable(); } }, c.name)));
  const cell = (c, r) => { const v = c.value(r); return R.make("td", { class: c.text ? "text" : v === 0 ? "zero" : null, title: c.text ? v : null }, c.text ? v : c.show(v)); };
  const row = (r) => R.make("tr", { class: R.chosen && def.kind === R.chosen.kind && r.index === R.chosen.index ? "on" : null, onclick: () => { if (def.kind) { R.choose(def.kind, r.index, true); R.toChart(); } } }, ...def.columns.map((c) => cell(c, r)));
  R.get("table").replaceChildren(R.make("table", {}, R.make("thead", {}, R.make("tr", {}, ...head)), R.make("tbody", {}, ...shown.slice(0, 400).map(row))),
    shown.length > 400 ? R.make("p", { class: "soft", style: "padding:8px 12px" }, `${shown.length - 400} more: search, or sort otherwise.`) : "");
  R.get("table-tabs").replaceChildren(...Object.entries(TABLES).filter(([, d]) => d.rows().length).map(([key, d]) =>
    R.make("button", { role: "tab", "aria-selected": key === t.which ? "true" : "false", onclick: () => { R.table = { which: key, sort: null, down: true }; R.drawTable(); } }, d.name)));
};

// The path as a list. Steps that are short beside the boot, or shorter than what is hidden, are shown when they are asked for.
const PATH_SHORT = 0.01; // of the boot
R.shortSteps = false; // shown?
const pathStep = (s) => R.make("li", { class: `${s.kind}${s.end - s.start > R.bootEnd / 12 ? " long" : ""}`, tabindex: "0",
  onclick: () => { if (s.process >= 0) R.choose("process", s.process, true); else if (s.unit && R.units.has(s.unit)) R.choose("unit", R.units.get(s.unit), true); else R.show(s.start, s.end); R.toChart(); },
  onkeydown: (e) => { if (e.key === "Enter") e.currentTarget.click(); } },
R.make("span", {}, R.at(s.start)), R.make("span", {}, R.time(s.end - s.start)), R.make("span", { style: `padding-left:${s.depth * 18}px` }, R.make("b", {}, R.plain(s.what)), ": ", R.make("span", { class: "soft" }, R.plain(s.why))));
R.drawPath = () => {
  const short = Math.max(R.bootEnd * PATH_SHORT, R.least), all = R.data.criticalPath.filter((s) => s.end - s.start >= 1), long = all.filter((s) => s.end - s.start >= short);
  const more = R.get("path-more"), left = all.length - long.length;
  R.get("path").replaceChildren(...(R.shortSteps ? all : long).map(pathStep));
  more.classList.toggle("hidden", !left);
  more.setAttribute("aria-expanded", R.shortSteps ? "true" : "false");
  more.textContent = R.shortSteps ? `Hide steps under ${R.time(short)}` : `Show ${left} ${left === 1 ? "step" : "steps"} under ${R.time(short)}`;
};

R.drawCompare = () => {
  const c = R.data.comparison;
  if (!c) return;
  R.get("s-compare").classList.remove("hidden");
  R.get("compare-what").textContent = `${c.sentence} Before: ${c.before}.`;
  const show = (n) => (n === null ? "-" : R.time(n)), go = (r) => { if (r.kind === "unit" && R.units.has(r.name)) R.choose("unit", R.units.get(r.name), true); };
  const row = (r, i) => R.make("tr", { onclick: () => go(r) }, R.make("td", { class: "text soft" }, i && c.rows[i - 1].kind === r.kind ? "" : r.kind), R.make("td", { class: "text", title: r.name }, r.name),
    R.make("td", {}, show(r.before)), R.make("td", {}, show(r.after)), R.make("td", { class: r.change > 0 ? "slower" : "faster" }, (r.change > 0 ? "+" : "") + R.time(r.change)));
  R.get("compare").replaceChildren(R.make("table", {}, R.make("thead", {}, R.make("tr", {}, ...["", "what", "before", "this boot", "change"].map((n, k) => R.make("th", { class: k < 2 ? "text" : null, scope: "col" }, n)))),
    R.make("tbody", {}, ...c.rows.slice(0, 300).map(row))));
};
R.drawMachine = () => {
  const d = R.data, rows = [["kernel", d.kernel], ["command line", d.commandLine], ["processors", d.cpus], ["boot id", d.bootId], ["began", d.began]].filter(([, v]) => v);
  const at = R.get("machine"), c = d.configuration;
  at.replaceChildren(R.make("div", { class: "table card" }, R.make("table", {}, R.make("tbody", {}, ...rows.map(([k, v]) => R.make("tr", {}, R.make("td", { class: "soft" }, k), R.make("td", { class: "text", style: "white-space:normal" }, String(v))))))));
  const head = (names, texts) => R.make("thead", {}, R.make("tr", {}, ...names.map((n, i) => R.make("th", { class: i < texts ? "text" : null, scope: "col" }, n))));
  const buffers = (b) => (b ? `${b.minimum_buffers} to ${b.maximum_buffers} x ${b.buffer_kb} KB` : "");
  const why = (r) => [r.reason, ...r.conditions].filter(Boolean).join("; ");
  if (c && c.rows && c.rows.length)
    at.append(heading("Status and effective values"), R.make("div", { class: "table card" }, R.make("table", {}, head(["session or provider", "status", "why", "asked", "given", "most used", "events", "lost"], 3),
      R.make("tbody", {}, ...c.rows.map((r) => R.make("tr", {}, R.make("td", { class: "text" }, r.name), R.make("td", { class: "text" }, `${r.status} ${r.level}`), R.make("td", { class: "text", title: why(r) }, why(r)),
        R.make("td", {}, buffers(r.asked)), R.make("td", {}, buffers(r.given)), R.make("td", {}, r.peakBytes ? R.bytes(r.peakBytes) : ""), R.make("td", {}, String(r.written)), R.make("td", { class: r.lost ? "slower" : null }, String(r.lost))))))));
  if (c && c.declared) at.append(R.make("details", { style: "margin-top:14px" }, R.make("summary", {}, "Configuration, as it is declared now"), R.make("pre", {}, c.declared)));
  if (d.images.length)
    at.append(R.make("details", { style: "margin-top:14px" }, R.make("summary", {}, `Identity of ${d.images.length} images`), R.make("div", { class: "table card" }, R.make("table", {}, head(["file", "build id"], 2),
      R.make("tbody", {}, ...d.images.map((i) => R.make("tr", {}, R.make("td", { class: "text" }, i.path), R.make("td", { class: "text mono" }, i.buildId))))))));
};
