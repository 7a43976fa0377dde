/* channels.js - channels as an event viewer has them: admin and operational ones; analytic and debug ones on demand. */
U.views.channels = {
  begin() {
    U.get('channels-again').onclick = () => this.look();
    U.get('channels-all').onchange = () => this.look();
    U.table('channel-events', [['Time', () => '']], [], 'choose a channel');
  },
  async look() {
    const r = await U.run(['channels', 'list', '--all', '--json']), every = U.get('channels-all').checked;
    const rows = U.list(r.out).filter((c) => every || c.enabled || !/^(Analytic|Debug)$/.test(c.type));
    U.table('channels-table', [['Channel', (c) => c.name], ['Kind', (c) => c.type ?? c.kind ?? ''], ['On', (c) => (c.enabled ? 'yes' : 'no')], ['', (c) => [
      U.button(c.enabled ? 'Disable' : 'Enable', c.name, () => this.flip(c)), U.button('Show events', c.name, () => this.events(c.name))]]], rows, U.message(r) || 'no manifest with channels is installed');
  },
  async flip(c) {
    if (await U.act(['channels', c.enabled ? 'disable' : 'enable', '--', c.name], '')) { await this.look(); U.say(`${c.name} is ${c.enabled ? 'off' : 'on'}`); }
  },
  async events(name) {
    const r = await U.ask(['channels', 'query', '--json', '--reverse', '--count', '200', '--', name]);
    U.table('channel-events', [['Time', (e) => e.time], ['Provider', (e) => e.provider], ['Id', (e) => String(e.id ?? e.event_id ?? ''), 'number'], ['Level', (e) => String(e.level ?? '')],
      ['Message', (e) => e.message ?? '']], r ? U.list(r.out) : [], r ? 'no events' : 'they could not be read');
    U.get('channel-events').caption.textContent = `Events of ${name}`;
  },
};
