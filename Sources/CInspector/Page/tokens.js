// The drawer of tokens and sessions: state, version, age, next refresh, and the buttons that refresh and log out.

const drawer = {
  place: null,
  timer: 0,
  isBusy: false,

  get isOpen() { return !this.place.hidden; },

  open() {
    this.place.hidden = false;
    this.place.replaceChildren(this.header());
    this.place.focus();
    this.load();
    this.timer = setInterval(() => this.load(), 2000);
  },

  close() {
    clearInterval(this.timer);
    this.place.hidden = true;
    this.place.replaceChildren();
  },

  toggle() { if (this.isOpen) this.close(); else this.open(); },

  header() {
    return h('header', {}, h('h2', {}, t('sessionsAndTokens')), h('button.plain', { onclick: () => this.close(), title: `${t('close')} (Esc)` }, '✕'));
  },

  async load() {
    // A button that waits to be pressed a second time must not be taken away.
    if (this.isBusy || this.place.querySelector('.sure')) return;
    try {
      const { tokens } = await gateway.json('GET', '/api/tokens');
      if (!this.isOpen || this.isBusy || this.place.querySelector('.sure')) return;
      const focused = document.activeElement?.dataset?.name;
      this.place.replaceChildren(this.header(), ...(tokens.length ? tokens.map(token => this.card(token)) : [h('p.note.card', {}, t('noTokens'))]));
      if (focused) this.place.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
    } catch (error) {
      if (this.isOpen) this.place.replaceChildren(this.header(), h('p.note.card', {}, error.message));
    }
  },

  card(token) {
    const now = Date.now();
    const since = time => (time ? (now - Date.parse(time)) / 1000 : null);
    const when = time => {
      const seconds = -since(time);
      return seconds > 0 ? t('within', span(seconds)) : t('overdue');
    };
    const states = { valid: 'good', expired: 'warn', missing: 'bad', authenticated: 'good', loggingOut: 'warn', unauthenticated: '' };
    const pill = state => h(states[state] ? `span.pill.${states[state]}` : 'span.pill', {}, t(state));
    const ends = Object.entries(token.refreshes ?? {}).filter(([, count]) => count).map(([end, count]) => `${end} ${count}`).join(' · ');
    const pairs = [
      [t('version'), token.version === null ? '–' : `v${token.version}  ${token.fingerprint ?? ''}`], [t('age'), token.changedAt ? span(since(token.changedAt)) : '–'],
      [t('expires'), token.expiresAt ? when(token.expiresAt) : t('never')], [t('nextRefresh'), !token.canRefresh ? t('never') : token.refreshAt ? when(token.refreshAt) : t('onDemand')],
      [t('refreshes'), ends || '0'], [t('kept'), [token.store?.kind, token.store?.place, token.store?.trouble].filter(Boolean).join(' · ')], [t('routes'), (token.routes ?? []).join(', ') || '–'],
    ];
    const dl = pairsElement(pairs);
    const refresh = h('button', { disabled: !token.canRefresh, onclick: event => this.act(event.target, `/api/tokens/${encodeURIComponent(token.name)}/refresh`, t('refreshDone', token.name)) }, t('refresh'));
    const logOut = h('button.danger', {
      disabled: token.session.state !== 'authenticated',
      onclick: event => this.confirm(event.target, () => this.act(event.target, `/api/sessions/${encodeURIComponent(token.session.name)}/logout`, t('logOutDone', token.session.name), { revision: token.session.revision })),
    }, t('logOut'));
    refresh.dataset.name = `refresh ${token.name}`;
    logOut.dataset.name = `logout ${token.name}`;
    return h('article.card', {},
      h('h4', {}, h('span.wild', {}, token.name), pill(token.state), pill(token.session.state), h('small.wild', {}, token.source)), dl,
      h('div.buttons', {}, refresh, logOut));
  },

  /// The first press asks, the second does.
  confirm(button, action) {
    if (button.classList.contains('sure')) {
      button.classList.remove('sure');
      return action();
    }
    button.classList.add('sure');
    button.textContent = t('sure');
    setTimeout(() => {
      if (!button.classList.contains('sure')) return;
      button.classList.remove('sure');
      button.textContent = t('logOut');
    }, 3000);
  },

  async act(button, path, done, body = {}) {
    this.isBusy = true;
    button.disabled = true;
    try {
      await gateway.call('POST', path, body);
      toast(done);
    } catch (error) { toast(error.message); }
    this.isBusy = false;
    this.load();
  },
};
