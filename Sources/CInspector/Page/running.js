// What happens inside exchanges, while somebody wants to see it: those on their way in a strip above the list, and what each has told.
// Exchanges tell only while a page asks: it costs them a little.

const RUNNING_MAX = 300;
const HAPPENINGS_MAX = 400;
const STRIP_MAX = 8;
// Each state's colour on the time axis.
const STATES = { created: 'dns', awaiting_token: 'gap', forwarding: 'wait', holding: 'connect', awaiting_refresh: 'gap', backing_off: 'gap', streaming: 'receive' };

class Running {
  /// By id, in the order they began; those that are over stay for whoever looks at them.
  exchanges = new Map();
  isOn = false;
  timer = 0;

  constructor(place, { onOpen, onDraw, onOver }) {
    this.place = place;
    this.callbacks = { onOpen, onDraw, onOver };
    setInterval(() => { if (this.isOn && !document.hidden && this.underWay.length) this.schedule(); }, 500);
  }

  get underWay() { return [...this.exchanges.values()].filter(one => !one.isOver); }

  set(isOn) {
    this.isOn = isOn;
    if (!isOn) this.exchanges.clear();
    this.schedule();
  }

  take(event) {
    const id = event.exchange;
    let one = this.exchanges.get(id);
    if (!one) {
      one = { id, began: Date.now() - event.at_us / 1000, method: '–', target: '–', state: 'created', received: 0, written: 0, happenings: [], isOver: false };
      this.exchanges.set(id, one);
      this.forget();
    }
    this.note(one, event);
    this.schedule();
    if (one.isOver) this.callbacks.onOver(id);
  }

  note(one, event) {
    if (event.event === 'request_created') Object.assign(one, { method: event.method ?? '–', target: event.target ?? '–' });
    if (event.event === 'transitioned') one.state = event.to;
    if (event.event === 'data_received') one.received += event.bytes;
    if (event.event === 'data_written') one.written += event.bytes;
    one.isOver ||= event.event === 'finished' || event.event === 'cancelled';
    one.until = event.at_us;
    const last = one.happenings.at(-1);
    // Piece after piece of one body is one line.
    if (event.bytes !== undefined && last?.event === event.event) Object.assign(last, { bytes: last.bytes + event.bytes, pieces: last.pieces + 1, until_us: event.at_us });
    else if (one.happenings.length < HAPPENINGS_MAX) one.happenings.push({ ...event, pieces: 1 });
    else one.isCut = true;
  }

  /// The oldest that is over makes room; where all are under way, the oldest.
  forget() {
    if (this.exchanges.size <= RUNNING_MAX) return;
    const over = [...this.exchanges.values()].find(one => one.isOver) ?? this.exchanges.values().next().value;
    this.exchanges.delete(over.id);
  }

  /// A stream tells faster than anybody reads.
  schedule() { this.timer ||= setTimeout(() => { this.timer = 0; this.draw(); }, 100); }

  draw() {
    this.place.hidden = !this.isOn;
    this.callbacks.onDraw();
    if (!this.isOn) return;
    const all = this.underWay;
    const shown = all.slice(-STRIP_MAX).reverse();
    const rows = shown.map(one => h('button.run', { onclick: () => this.callbacks.onOpen(one.id) },
      h(`i.p-${STATES[one.state] ?? 'wait'}`), h('span.method.wild', {}, one.method), h('span.target.wild', {}, one.target),
      h('span', {}, t(`state_${one.state}`)), h('span.much', {}, elapsed(one))));
    const more = all.length - shown.length;
    this.place.replaceChildren(...rows, h('p.note', {}, all.length ? (more ? t('more', number(more)) : '') : t('noneRunning')));
  }
}

function elapsed(one) { return duration(Math.max(0, Math.round(one.isOver ? one.until : (Date.now() - one.began) * 1000))); }

/// What an exchange told of its inside: its states on a time axis, then everything in order.
function happenings(one) {
  if (!one?.happenings.length) return null;
  const end = one.isOver ? one.until : Math.max(one.until, (Date.now() - one.began) * 1000);
  const axis = new Axis(end);
  const used = new Map();
  const moves = [...one.happenings.filter(({ event }) => event === 'transitioned'), { at_us: end, to: 'done' }];
  let from = 0;
  let state = 'created';
  for (const { at_us: at, to } of moves) {
    if (STATES[state] && at > from) {
      axis.add(STATES[state], from, at, `${t(`state_${state}`)} ${duration(Math.round(at - from))}`);
      used.set(state, [STATES[state], t(`state_${state}`)]);
    }
    [from, state] = [at, to];
  }
  const lines = one.happenings.map(told => [h('span.much', {}, duration(told.at_us)), h('b', {}, t(`told_${told.event}`)), h('span.wild', {}, noteOf(told))]);
  return section(t('inside'), axis.alone(), legend([...used.values()]), h('div.told', {}, lines.flat()), one.isCut ? h('p.note', {}, t('toldCut')) : null);
}

function noteOf(told) {
  switch (told.event) {
  case 'transitioned': return `${t(`state_${told.from}`)} → ${t(`state_${told.to}`)}`;
  case 'request_adapted': return [...told.added.map(name => `+${name}`), ...told.removed.map(name => `−${name}`)].join(' ');
  case 'bytes_sent': case 'data_received': case 'data_written':
    return told.pieces > 1 ? `${bytes(told.bytes)} · ×${number(told.pieces)} · ${duration(told.until_us - told.at_us)}` : bytes(told.bytes);
  case 'response_received': return String(told.status);
  case 'resumed': case 'suspended': return t('attempt', told.attempt);
  case 'retrying': return `#${told.number} · ${t('within', duration(told.delay_ms * 1000))}`;
  case 'refreshing': return told.token;
  case 'finished': return [told.status, told.reason].filter(Boolean).join(' · ');
  default: return '';
  }
}
