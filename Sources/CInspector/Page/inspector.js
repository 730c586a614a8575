// The page as a whole: the list and its feed, the filter, the keyboard, themes and languages.

const FIRST_PAGE = 200;
const NEXT_PAGES = 1000;
const FILTERS = [['all', ''], ['failures', 'status>=400'], ['business', 'kind=business'], ['slow', 'duration>1s'], ['refreshed', 'refresh=led,joined'], ['retried', 'attempts>1']];

const inspector = {
  list: null,
  charts: null,
  feed: null,
  generation: 0,
  filter: '',
  isPaused: false,
  state: 'connecting',
  /// What has come since the last frame, and while paused.
  arrived: [],
  waiting: 0,
  newer: 0,
  settings: JSON.parse(localStorage.getItem('cryonet.inspector') ?? '{}'),

  begin() {
    this.charts = new Charts($('charts'));
    this.list = new RowList($('scroll'), $('space'), {
      onSelect: () => {}, onOpen: id => this.open(id), onScrolled: () => { if (this.list.isAtTop) this.showNewer(0); },
    });
    detail.place = $('detail');
    detail.onClose = () => this.closeDetail();
    // Its record may have come before the answer did.
    detail.onReplayed = id => { this.awaited = id; this.scheduleFlush(); };
    drawer.place = $('drawer');
    this.running = new Running($('running'), {
      onOpen: id => this.openRunning(id), onDraw: () => { if (detail.showsRunning) detail.showRunning(); },
      onOver: id => setTimeout(() => this.openIfOver(id), 300),
    });
    detail.running = this.running.exchanges;
    gateway.onRefused = () => this.askForKey(true);
    this.applyTheme();
    language.choose(this.settings.language ?? (navigator.language.startsWith('zh') ? 'zh' : 'en'));
    this.makeChips();
    this.wire();
    this.relabel();
    if (gateway.findKey()) this.start();
    else this.askForKey(false);
  },

  save(change) {
    Object.assign(this.settings, change);
    localStorage.setItem('cryonet.inspector', JSON.stringify(this.settings));
  },

  // The feed

  async start() {
    const generation = ++this.generation;
    this.list.clear();
    this.charts.clear();
    this.arrived = [];
    this.waiting = 0;
    this.showNewer(0);
    this.showProblem('');
    this.setState('connecting');
    const query = this.filter ? `filter=${encodeURIComponent(this.filter)}` : '';
    // The feed first, the list behind it: nothing is lost between them, and what comes twice is known by its id.
    this.listen();
    try {
      let before = '';
      let limit = FIRST_PAGE;
      while (generation === this.generation && this.list.shownCount < ROWS_MAX) {
        const { exchanges } = await gateway.json('GET', `/api/exchanges?limit=${limit}${before && `&before=${encodeURIComponent(before)}`}${query && `&${query}`}`);
        if (generation !== this.generation || !exchanges.length) break;
        this.list.addOlder(exchanges.map(rowOf));
        for (const record of exchanges) this.charts.add(rowOf(record));
        this.showCount();
        if (exchanges.length < limit) break;
        before = exchanges.at(-1).id;
        limit = NEXT_PAGES;
      }
    } catch (error) {
      if (error.status === 400) this.showProblem(error.message);
    }
    this.charts.draw();
    this.showCount();
  },

  /// Reads the feed from where it was left, or from now on.
  listen(lastId = '') {
    const generation = this.generation;
    this.feed?.stop();
    const words = [this.filter && `filter=${encodeURIComponent(this.filter)}`, this.running.isOn && 'events=all'].filter(Boolean);
    this.feed = new Feed(words.length ? `?${words.join('&')}` : '', {
      onState: state => { if (generation === this.generation) this.setState(state); },
      onExchange: record => { if (generation === this.generation) this.take(record); },
      onHappening: event => this.running.take(event),
      onDropped: count => toast(t('dropped', number(count))),
      onProblem: text => this.showProblem(text),
    }, lastId);
  },

  toggleRunning() {
    this.running.set(!this.running.isOn);
    $('show-running').setAttribute('aria-pressed', this.running.isOn);
    if (this.feed) this.listen(this.feed.lastId);
  },

  take(record) {
    this.openIfOver(record.id);
    const row = rowOf(record);
    this.charts.add(row);
    this.arrived.push(row);
    if (this.isPaused) {
      this.waiting = Math.min(this.arrived.length, ROWS_MAX);
      if (this.arrived.length > ROWS_MAX + 500) this.arrived.splice(0, this.arrived.length - ROWS_MAX);
      return this.showState();
    }
    this.scheduleFlush();
  },

  scheduleFlush() {
    if (this.flushing) return;
    this.flushing = true;
    const flush = () => { this.flushing = false; this.flush(); };
    // A hidden page draws no frames, and must not pile up rows either.
    if (document.hidden) setTimeout(flush, 500);
    else requestAnimationFrame(flush);
  },

  flush() {
    if (this.isPaused) return;
    const rows = this.arrived;
    this.arrived = [];
    const wasAtTop = this.list.isAtTop;
    const added = this.list.add(rows);
    if (!wasAtTop) this.showNewer(this.newer + added);
    this.showCount();
    if (this.awaited && this.list.ids.has(this.awaited)) {
      const id = this.awaited;
      this.awaited = '';
      this.list.select(id);
      this.open(id);
    }
  },

  // What is shown

  open(id) {
    if (!id) return;
    $('main').classList.add('split');
    detail.open(id);
    this.list.schedule();
  },

  openRunning(id) {
    $('main').classList.add('split');
    detail.openRunning(id);
    this.list.schedule();
  },

  /// The one under way that somebody looks at has its record.
  openIfOver(id) { if (detail.asked === id && detail.showsRunning) detail.open(id); },

  closeDetail() {
    detail.close();
    $('main').classList.remove('split');
    $('list').focus({ preventScroll: true });
    this.list.schedule();
  },

  setState(state) {
    this.state = state;
    this.showState();
  },

  showState() {
    const button = $('state');
    button.dataset.state = this.isPaused ? 'paused' : this.state;
    button.lastElementChild.textContent = this.isPaused ? (this.waiting ? t('pausedWith', number(this.waiting)) : t('paused')) : t(this.state);
  },

  showCount() {
    const count = this.list.shownCount;
    $('count').textContent = count === 1 ? t('one') : count ? t('shown', number(count)) : '';
    const empty = $('empty');
    empty.hidden = count > 0;
    if (count) return;
    const how = this.filter ? [h('b', {}, t('emptyFiltered')), h('span', {}, t('emptyFilteredHow'))] : [h('b', {}, t('emptyTitle')), h('span', {}, t('emptyHow'))];
    empty.replaceChildren(...how);
  },

  showNewer(count) {
    this.newer = count;
    $('newer').hidden = !count;
    if (count) $('newer').textContent = t('newer', number(count));
  },

  showProblem(text) {
    $('filter-problem').textContent = text;
    $('filter-problem').hidden = !text;
    $('filter').setAttribute('aria-invalid', Boolean(text));
  },

  makeChips() {
    $('chips').replaceChildren(...FILTERS.map(([word, filter]) => {
      const button = h('button', { onclick: () => this.setFilter(filter) }, t(word));
      button.dataset.filter = filter;
      return button;
    }));
    this.markChips();
  },

  markChips() { for (const chip of $('chips').children) chip.setAttribute('aria-pressed', chip.dataset.filter === this.filter); },

  setFilter(filter) {
    filter = filter.trim();
    $('filter').value = filter;
    if (filter === this.filter && $('filter-problem').hidden) return;
    this.filter = filter;
    this.markChips();
    this.start();
  },

  relabel() {
    this.makeChips();
    this.showState();
    this.showCount();
    this.showNewer(this.newer);
    this.charts.relabel();
    this.list.redraw();
    detail.redraw();
    this.running.schedule();
    if (drawer.isOpen) drawer.load();
  },

  // Theme, language

  applyTheme() {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const apply = () => {
      const choice = this.settings.theme ?? 'system';
      document.documentElement.dataset.theme = choice === 'system' ? (system.matches ? 'dark' : 'light') : choice;
      $('theme').textContent = { system: '◐', light: '☀', dark: '☾' }[choice];
      this.charts?.draw();
    };
    this.nextTheme = () => {
      const order = system.matches ? ['system', 'light', 'dark'] : ['system', 'dark', 'light'];
      this.save({ theme: order[(order.indexOf(this.settings.theme ?? 'system') + 1) % 3] });
      apply();
    };
    system.addEventListener('change', apply);
    apply();
  },

  nextLanguage() {
    this.save({ language: language.now === 'en' ? 'zh' : 'en' });
    language.choose(this.settings.language);
    this.relabel();
  },

  // Actions

  pause() {
    this.isPaused = !this.isPaused;
    this.waiting = 0;
    this.showState();
    if (!this.isPaused) this.flush();
  },

  clear() {
    this.arrived = [];
    this.list.clear();
    this.charts.clear();
    this.showNewer(0);
    this.showCount();
    if (!detail.place.hidden) this.closeDetail();
  },

  async downloadHAR() {
    try {
      const query = this.filter ? `?filter=${encodeURIComponent(this.filter)}` : '';
      const blob = await (await gateway.call('GET', `/api/har${query}`)).blob();
      const link = h('a', { href: URL.createObjectURL(blob), download: `cryonet-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.har` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (error) { toast(error.message); }
  },

  askForKey(wasRefused) {
    const dialog = $('login');
    if (dialog.open) return;
    this.feed?.stop();
    const key = h('input', { type: 'password', autocomplete: 'off', required: true });
    const take = event => {
      event.preventDefault();
      gateway.keep(key.value.trim());
      dialog.close();
      this.start();
    };
    dialog.replaceChildren(h('form', { onsubmit: take }, h('h2', {}, t('loginTitle')), h('p', {}, t('loginHow')),
      wasRefused && gateway.key ? h('p.problem', {}, t('loginBad')) : null, h('label', {}, t('loginTitle'), key), h('div.buttons', {}, h('button.primary', { type: 'submit' }, t('open')))));
    dialog.showModal();
    key.focus();
  },

  showKeys() {
    const rows = [['j k', 'k_jk'], ['Enter', 'k_enter'], ['Esc', 'k_esc'], ['/', 'k_slash'], ['g G', 'k_g'], ['c', 'k_c'], ['r', 'k_r'], ['e', 'k_e'], ['p', 'k_p'], ['x', 'k_x'], ['t', 'k_t'], ['i', 'k_i'], ['?', 'k_help']];
    const dialog = $('keys');
    dialog.replaceChildren(h('form', { method: 'dialog' }, h('h2', {}, t('keyboard')),
      h('div.shortcuts', {}, rows.flatMap(([keys, word]) => [h('div', {}, keys.split(' ').flatMap(key => [h('kbd', {}, key), ' '])), h('span', {}, t(word))])),
      h('div.buttons', {}, h('button', {}, t('close')))));
    dialog.showModal();
  },

  // Wires

  wire() {
    const on = (id, action) => $(id).addEventListener('click', action);
    on('state', () => this.pause());
    on('show-running', () => this.toggleRunning());
    on('open-tokens', () => drawer.toggle());
    on('download-har', () => this.downloadHAR());
    on('clear', () => this.clear());
    on('language', () => this.nextLanguage());
    on('theme', () => this.nextTheme());
    on('open-keys', () => this.showKeys());
    on('newer', () => { $('scroll').scrollTop = 0; this.showNewer(0); });
    const filter = $('filter');
    let timer = 0;
    filter.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.setFilter(filter.value), 350);
    });
    filter.addEventListener('keydown', event => {
      if (event.isComposing) return;
      if (event.key === 'Enter') { clearTimeout(timer); this.setFilter(filter.value); }
      if (event.key === 'Escape') { if (filter.value) this.setFilter(''); filter.blur(); $('list').focus(); event.stopPropagation(); }
    });
    document.addEventListener('keydown', event => this.pressed(event));
    for (const dialog of document.querySelectorAll('dialog')) {
      dialog.addEventListener('click', event => { if (event.target === dialog && dialog.id !== 'login') dialog.close(); });
      dialog.addEventListener('cancel', event => { if (dialog.id === 'login') event.preventDefault(); });
    }
    addEventListener('resize', () => { this.list.redraw(); this.charts.draw(); });
    addEventListener('hashchange', () => { if (gateway.findKey()) this.start(); });
    this.wireDivider();
  },

  wireDivider() {
    const divider = $('divider');
    const place = $('detail');
    const apply = share => { place.style.width = `${Math.max(24, Math.min(78, share))}%`; };
    if (this.settings.detail) apply(this.settings.detail);
    divider.addEventListener('pointerdown', event => {
      divider.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    divider.addEventListener('pointermove', event => {
      if (!divider.hasPointerCapture(event.pointerId)) return;
      const share = (innerWidth - event.clientX) / innerWidth * 100;
      apply(share);
      this.save({ detail: share });
    });
  },

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector('dialog[open]')) return;
    if (event.target.matches('input, textarea')) return;
    const key = event.key;
    if (key === 'Escape') {
      if (drawer.isOpen) return drawer.close();
      if (!detail.place.hidden) return this.closeDetail();
      return this.list.select('');
    }
    const move = by => {
      this.list.move(by);
      if (!detail.place.hidden) this.open(this.list.selected);
    };
    const actions = {
      j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(15), PageUp: () => move(-15),
      g: () => this.list.jump(false), G: () => this.list.jump(true), Home: () => this.list.jump(false), End: () => this.list.jump(true),
      '/': () => { $('filter').focus(); $('filter').select(); }, '?': () => this.showKeys(), p: () => this.pause(), t: () => drawer.toggle(), i: () => this.toggleRunning(), x: () => this.clear(),
      c: () => detail.copyCurl(), r: () => detail.replay(), e: () => detail.edit(),
      Enter: () => { if (!this.list.selected) this.list.move(0); this.open(this.list.selected); detail.place.focus({ preventScroll: true }); },
    };
    if (event.target.matches('button') && key === 'Enter') return;
    if (drawer.isOpen && key !== 't') return;
    const action = actions[key];
    if (!action) return;
    event.preventDefault();
    action();
  },
};

inspector.begin();
