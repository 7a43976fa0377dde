/* sets.js - data collector sets: make, start, stop, open what they gave. */
U.views.sets = {
  begin() {
    U.get('sets-again').onclick = () => this.look();
    U.get('set-form').onsubmit = async (e) => { e.preventDefault(); await this.save(); };
  },
  async look() {
    const r = await U.run(['set', 'list', '--json']);
    U.table('sets-table', [['Name', (s) => s.name], ['State', (s) => (s.running ? 'runs' : '')], ['Counters', (s) => s.counters], ['Sessions', (s) => s.sessions.map((x) => x.name ?? x).join(', ')],
      ['Schedule', (s) => s.schedule], ['Last result', (s) => s.result], ['', (s) => [U.button('Start', s.name, () => this.act('start', s.name, 'has started')),
        U.button('Stop', s.name, () => this.act('stop', s.name, 'has stopped')), U.button('Remove', s.name, () => this.act('remove', s.name, 'is removed'))]]], U.list(r.out), U.message(r) || 'no set is saved');
  },
  async act(what, name, done) {
    const r = await U.act(['set', what, '--json', '--', name], '');
    if (!r) return;
    await this.look();
    U.say(`"${name}" ${done}`);
    const folder = r.out && r.out.result;
    if (folder) U.say(`"${name}" ${done}: ${folder}`);
  },
  ini() {
    const name = U.get('set-name').value.trim(), lines = [`[CollectorSet/${name}]`], put = (key, value) => { if (value) lines.push(`${key} = ${value}`); };
    put('Counters', [...document.querySelectorAll('[name=counter]:checked')].map((c) => c.value).join(', '));
    put('CounterInterval', `${U.get('set-interval').value} s`);
    put('Duration', Number(U.get('set-duration').value) ? `${U.get('set-duration').value} s` : '');
    put('Configuration', U.get('set-configuration').value.trim());
    put('Folder', U.get('set-folder').value.trim());
    const providers = U.get('set-providers').value.split('\n').map((l) => l.trim()).filter(Boolean);
    if (providers.length) lines.push(`[CollectorSet/${name}/events]`, ...providers.flatMap((p) => [`[CollectorSet/${name}/events/${p}]`]));
    return `${lines.join('\n')}\n`;
  },
  async save() {
    if (await U.act(['set', 'save', '--json', '@file'], '', this.ini())) { await this.look(); U.say(`"${U.get('set-name').value.trim()}" is saved`); }
  },
};
