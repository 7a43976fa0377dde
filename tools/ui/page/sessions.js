/* sessions.js - sessions that run: counters once a second, start, stop, flush. */
U.views.sessions = {
  begin() {
    U.get('sessions-again').onclick = () => this.look();
    setInterval(() => { if (U.view === 'sessions' && U.get('sessions-live').checked && !document.hidden) this.rows(true); }, 1000);
    U.get('start-pick').onchange = (e) => { const t = U.get('start-providers'); if (e.target.value) t.value = `${t.value.trim()}\n${e.target.value}`.trim(); e.target.value = ''; };
    U.get('start-form').onsubmit = async (e) => { e.preventDefault(); await this.start(); };
  },
  async look() {
    await this.rows(false);
    const [installed, registered, kernel] = await Promise.all([U.run(['providers', '--installed', '--json']), U.run(['providers', '--registered', '--json']), U.run(['providers', '--json'])]);
    const names = new Set([...U.list(installed.out), ...U.list(registered.out)].map((p) => p.name || p.guid).filter(Boolean));
    U.get('start-pick').replaceChildren(U.element('option', 'a provider', { value: '' }), ...[...names].sort().map((n) => U.element('option', n, { value: n })));
    U.get('flags').replaceChildren(...U.list(kernel.out).filter((k) => k.supported !== 'no').map((k) => U.element('option', null, { value: k.name })));
  },
  async rows(quiet) {
    if (quiet && this.asked) return; /* a slow machine gets no second question before it has answered the first */
    this.asked = (this.asked || 0) + 1;
    const r = await U.run(['sessions', '--json']);
    this.asked--;
    const rows = U.list(r.out);
    if (r.code !== 0 && !quiet) U.say(U.message(r), true);
    U.table('sessions-table', [['Name', (s) => s.name], ['Events', (s) => U.number(s.events_written), 'number'], ['Lost', (s) => U.number(s.events_lost), 'number'],
      ['Buffers in use', (s) => `${s.number_of_buffers - s.free_buffers} of ${s.number_of_buffers}`, 'number'], ['State', (s) => (s.log_file_mode & 0x100 ? `${s.state}, real-time` : s.state)],
      ['Status', (s) => `${s.status} ${s.status_name}`], ['File', (s) => s.log_path], ['', (s) => [U.button('Stop', s.name, () => this.stop(s.name)),
        U.button('Flush', s.name, () => U.act(['flush', '--', s.name], `"${s.name}" is flushed`))]]], rows, U.message(r) || 'no session runs');
    U.sessions = rows;
  },
  async start() {
    const words = ['start', '--json'], file = U.get('start-file').value.trim(), flags = U.get('start-flags').value.trim(), name = U.get('start-name').value.trim();
    for (const line of U.get('start-providers').value.split('\n').map((l) => l.trim()).filter(Boolean)) words.push('--provider', line);
    if (flags) words.push('--flags', flags);
    if (U.get('start-live').checked) words.push('--real-time');
    if (file) words.push('--output', file);
    if (await U.act([...words, '--', name], `"${name}" runs`)) { U.get('start-name').value = ''; await this.rows(false); U.say(`"${name}" runs`); }
  },
  async stop(name) {
    if (await U.act(['stop', '--json', '--', name], `"${name}" has stopped`)) await this.rows(true);
  },
};
