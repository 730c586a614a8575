// The gateway's admin API: calls with the key, and the stream of exchanges read through fetch, since EventSource can send no header.

class CallFailed extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const gateway = {
  key: '',
  /// Called when the gateway refuses the key.
  onRefused: () => {},

  /// The key comes in the address's fragment, which no browser sends, and stays in this tab.
  findKey() {
    const given = new URLSearchParams(location.hash.slice(1)).get('key');
    if (given) {
      sessionStorage.setItem('cryonet.key', given);
      history.replaceState(null, '', location.pathname + location.search);
    }
    this.key = given || sessionStorage.getItem('cryonet.key') || '';
    return this.key !== '';
  },

  keep(key) {
    this.key = key;
    sessionStorage.setItem('cryonet.key', key);
  },

  async call(method, path, body) {
    const key = this.key;
    const headers = { Authorization: `Bearer ${key}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const response = await fetch(path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-cache', credentials: 'omit',
    });
    if (response.ok) return response;
    if (response.status === 401) this.refused(key);
    let message = `${response.status}`;
    try { message = (await response.json()).message || message; } catch { /* Not our failure: the status has to do. */ }
    throw new CallFailed(response.status, message);
  },

  /// An answer to an earlier key says nothing about the present one.
  refused(key) { if (key === this.key) this.onRefused(); },

  async json(method, path, body) { return (await this.call(method, path, body)).json(); },
  async text(path) { return (await this.call('GET', path)).text(); },
};

/// One reading of the stream, which connects again by itself until it is stopped.
class Feed {
  /// `lastId`: where an earlier reading had got to.
  constructor(query, { onState, onExchange, onHappening, onDropped, onProblem }, lastId = '') {
    this.query = query;
    this.callbacks = { onState, onExchange, onHappening, onDropped, onProblem };
    this.stopped = new AbortController();
    this.lastId = lastId;
    this.run();
  }

  stop() { this.stopped.abort(); }

  async run() {
    let pause = 500;
    while (!this.stopped.signal.aborted) {
      try {
        await this.read();
        pause = 500;
      } catch (error) {
        if (this.stopped.signal.aborted) return;
        if (error instanceof CallFailed && error.status === 400) return this.callbacks.onProblem(error.message);
        if (error instanceof CallFailed && error.status === 401) return;
      }
      if (this.stopped.signal.aborted) return;
      this.callbacks.onState('lost');
      await new Promise(resolve => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, 8000);
    }
  }

  async read() {
    const key = gateway.key;
    const headers = { Authorization: `Bearer ${key}` };
    if (this.lastId) headers['Last-Event-ID'] = this.lastId;
    const response = await fetch(`/api/exchanges/stream${this.query}`, {
      headers, signal: this.stopped.signal, cache: 'no-store', credentials: 'omit',
    });
    if (!response.ok) {
      if (response.status === 401) gateway.refused(key);
      let message = `${response.status}`;
      try { message = (await response.json()).message; } catch { /* as above */ }
      throw new CallFailed(response.status, message);
    }
    this.callbacks.onState('live');
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      let end;
      let start = 0;
      while ((end = text.indexOf('\n\n', start)) >= 0) {
        this.take(text.slice(start, end));
        start = end + 2;
      }
      text = text.slice(start);
    }
  }

  take(block) {
    let event = '';
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('data: ')) data = line.slice(6);
      else if (line.startsWith('id: ')) this.lastId = line.slice(4);
    }
    if (event === 'exchange') this.callbacks.onExchange(JSON.parse(data));
    else if (event === 'monitor') this.callbacks.onHappening(JSON.parse(data));
    else if (event === 'dropped') {
      const { count, of: what } = JSON.parse(data);
      if (what !== 'monitor') this.callbacks.onDropped(count);
    }
  }
}
