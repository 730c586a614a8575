// Three small charts of the last two minutes: rate, share of errors, latency. They show what the filter lets through.

const BUCKET_MS = 2000;
const BUCKETS = 60;
const SAMPLES_MAX = 256;

class Charts {
  constructor(place) {
    this.buckets = new Map();
    this.charts = ['rate', 'errors', 'latency'].map(name => {
      const caption = h('figcaption', {}, t(name));
      const output = h('output', {}, '–');
      const canvas = h('canvas');
      place.append(h('figure.chart', {}, caption, output, canvas));
      return { name, caption, output, canvas };
    });
    setInterval(() => this.draw(), 1000);
  }

  clear() {
    this.buckets.clear();
    this.draw();
  }

  add(row) {
    const key = Math.floor(row.at / BUCKET_MS);
    let bucket = this.buckets.get(key);
    if (!bucket) this.buckets.set(key, bucket = { count: 0, errors: 0, times: [] });
    bucket.count += 1;
    if (row.status === 0 || row.status >= 500 || row.reason) bucket.errors += 1;
    // A sample of bounded size, each exchange with the same chance to be in it.
    if (bucket.times.length < SAMPLES_MAX) bucket.times.push(row.took);
    else if (Math.random() < SAMPLES_MAX / bucket.count) bucket.times[Math.floor(Math.random() * SAMPLES_MAX)] = row.took;
  }

  draw() {
    if (document.hidden) return;
    const end = Math.floor(Date.now() / BUCKET_MS);
    for (const key of this.buckets.keys()) if (key <= end - BUCKETS - 5) this.buckets.delete(key);
    const series = Array.from({ length: BUCKETS }, (_, index) => this.buckets.get(end - BUCKETS + 1 + index));
    const quantile = (times, share) => times.length ? times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] : null;
    // The last ten seconds that are over, as numbers.
    const recent = series.slice(-6, -1).filter(Boolean);
    const count = recent.reduce((sum, bucket) => sum + bucket.count, 0);
    const errors = recent.reduce((sum, bucket) => sum + bucket.errors, 0);
    const times = recent.flatMap(bucket => bucket.times);
    const perSecond = count / 10;
    const [rate, share, latency] = this.charts;
    rate.output.textContent = perSecond >= 100 ? number(Math.round(perSecond)) : perSecond.toFixed(1);
    share.output.textContent = count ? `${(errors / count * 100).toFixed(errors && errors / count < .1 ? 1 : 0)} %` : '–';
    latency.output.textContent = times.length ? `${shortDuration(quantile(times, .5))} / ${shortDuration(quantile(times, .95))}` : '–';
    plot(rate.canvas, [{ values: series.map(bucket => (bucket?.count ?? 0) / 2), color: '--accent', fills: true }]);
    plot(share.canvas, [{ values: series.map(bucket => bucket ? bucket.errors / bucket.count : 0), color: '--bad', fills: true }], 1);
    plot(latency.canvas, [
      { values: series.map(bucket => bucket ? quantile(bucket.times, .95) : null), color: '--line-strong', fills: true },
      { values: series.map(bucket => bucket ? quantile(bucket.times, .5) : null), color: '--good' },
    ]);
  }

  relabel() {
    for (const chart of this.charts) chart.caption.textContent = t(chart.name);
    this.draw();
  }
}

function shortDuration(microseconds) { return duration(microseconds).replace(' ', ''); }

function plot(canvas, series, fixedTop) {
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!width) return;
  if (canvas.width !== width * scale) canvas.width = width * scale;
  if (canvas.height !== height * scale) canvas.height = height * scale;
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  const top = fixedTop ?? Math.max(...series.flatMap(one => one.values.map(value => value ?? 0)), 1e-9) * 1.1;
  context.fillStyle = style.getPropertyValue('--line');
  context.fillRect(0, height - 1, width, 1);
  for (const { values, color, fills } of series) {
    context.strokeStyle = context.fillStyle = style.getPropertyValue(color);
    context.lineWidth = 1.25;
    const x = index => index / (values.length - 1) * width;
    const y = value => height - 1 - value / top * (height - 3);
    context.beginPath();
    let first = -1;
    let last = 0;
    values.forEach((value, index) => {
      if (value === null) return;
      if (first < 0) context.moveTo(x(first = index), y(value));
      else context.lineTo(x(index), y(value));
      last = index;
    });
    context.stroke();
    if (!fills || first < 0) continue;
    context.lineTo(x(last), height);
    context.lineTo(x(first), height);
    context.globalAlpha = .14;
    context.fill();
    context.globalAlpha = 1;
  }
}
