'use strict';
// Every text of the page, in English and Chinese, and what each failure means in words.

const WORDS = {
  en: {
    inspector: 'Inspector', tokens: 'Tokens', har: 'HAR', clear: 'Clear', language: '中文', filter: 'Filter', exchanges: 'Exchanges',
    tokensTitle: 'Tokens and sessions (t)', harTitle: 'Download what the filter shows as HAR', clearTitle: 'Empty the list (x)',
    languageTitle: '切换到中文', themeTitle: 'Light, dark, as the system', keysTitle: 'Keyboard (?)', pauseTitle: 'Pause or go on (p)',
    filterHint: 'route=news status>=500 kind=business path~/news',
    status: 'Status', method: 'Method', target: 'Target', route: 'Route', time: 'Time', duration: 'Duration',
    live: 'Live', paused: 'Paused', lost: 'Reconnecting…', connecting: 'Connecting…', pausedWith: n => `Paused · ${n} new`,
    rate: 'requests/s', errors: 'errors', latency: 'p50 / p95',
    all: 'All', failures: 'Failures', business: 'Business', slow: 'Slow', refreshed: 'Refreshed', retried: 'Retried',
    shown: n => `${n} exchanges`, one: '1 exchange', newer: n => `↑ ${n} new`, dropped: n => `${n} exchanges went by too fast to be shown`,
    emptyTitle: 'Waiting for the first request', emptyHow: 'Send one through the gateway and it appears here.',
    emptyFiltered: 'Nothing matches the filter', emptyFilteredHow: 'New exchanges that match appear here.',
    copyCurl: 'Copy as cURL', replay: 'Replay', editReplay: 'Edit and replay', copyRecord: 'Copy record', close: 'Close', copy: 'Copy', copied: 'Copied',
    replayed: s => `Replayed: ${s}`, gone: 'This exchange is no longer kept.', failedCall: m => m,
    explained: 'What went wrong', steps: 'Steps', timeline: 'Timeline', request: 'Request', response: 'Response', record: 'Record', stream: 'Stream',
    headers: 'Headers', body: 'Body', pretty: 'Pretty', raw: 'Raw', cut: (kept, all) => `Only the beginning is kept${all ? `: ${kept} of ${all}` : ''}.`, show: 'Show', hide: 'Hide',
    notKept: 'Headers and bodies of this exchange are not kept. The audit keeps those of failures; set audit.bodies: all to keep every one.',
    dns: 'name lookup', connect: 'connect', tls: 'TLS', wait: 'waiting', receive: 'receiving', gapRefresh: 'token refresh', gapRetry: 'back-off',
    reused: 'kept connection', attempt: n => `Attempt ${n}`, token: v => `token v${v}`, total: 'Total', client: 'Client', size: 'Size',
    upstream: 'Upstream', session: 'Session', policy: 'Policy', identity: 'Identity', id: 'Id', requestId: 'Request id', trace: 'Trace', fromGateway: 'sent', toGateway: 'received',
    sessionsAndTokens: 'Tokens and sessions', noTokens: 'This gateway has no tokens.', state: 'State', version: 'Version', age: 'Age',
    nextRefresh: 'Next refresh', expires: 'Expires', source: 'Source', kept: 'Kept in', routes: 'Routes', refreshes: 'Refreshes',
    refresh: 'Refresh', logOut: 'Log out', sure: 'Sure?', never: 'never', onDemand: 'on demand', within: t => `in ${t}`,
    overdue: 'due', valid: 'valid', expired: 'expired', missing: 'missing', authenticated: 'logged in', loggingOut: 'logging out', unauthenticated: 'logged out',
    refreshDone: n => `${n} refreshed`, logOutDone: n => `${n} logged out`,
    keyboard: 'Keyboard', k_jk: 'next, previous', k_enter: 'open', k_esc: 'close', k_slash: 'filter', k_g: 'newest, oldest', k_p: 'pause, go on', k_c: 'copy as cURL',
    k_r: 'replay', k_e: 'edit and replay', k_t: 'tokens and sessions', k_x: 'empty the list', k_help: 'this help',
    loginTitle: 'Admin key', loginHow: 'The gateway prints it when it starts, and keeps it beside its ready file. It stays in this tab.', loginBad: 'The gateway does not take this key.', open: 'Open',
    editTitle: 'Edit and replay', editHow: 'Goes through the gateway with its routes, tokens and policies. Masked values are left out.', send: 'Send', cancel: 'Cancel',
    us: 'µs', ms: 'ms', s: 's', min: 'min', h: 'h', d: 'd',
  },
  zh: {
    inspector: '检查器', tokens: '令牌', har: 'HAR', clear: '清空', language: 'English', filter: '筛选', exchanges: '请求列表',
    tokensTitle: '令牌与会话 (t)', harTitle: '将当前筛选结果下载为 HAR', clearTitle: '清空列表 (x)', languageTitle: 'Switch to English', themeTitle: '浅色、深色、跟随系统',
    keysTitle: '键盘 (?)', pauseTitle: '暂停或继续 (p)', filterHint: 'route=news status>=500 kind=business path~/news',
    status: '状态', method: '方法', target: '目标', route: '路由', time: '时间', duration: '耗时',
    live: '实时', paused: '已暂停', lost: '重新连接…', connecting: '连接中…', pausedWith: n => `已暂停 · ${n} 条新`,
    rate: '请求/秒', errors: '错误', latency: 'p50 / p95', all: '全部', failures: '失败', business: '业务', slow: '慢', refreshed: '已刷新', retried: '已重试',
    shown: n => `${n} 条`, one: '1 条', newer: n => `↑ ${n} 条新`, dropped: n => `${n} 条请求来得太快，未能显示`,
    emptyTitle: '等待第一个请求', emptyHow: '经网关发送一个请求，它就会出现在这里。', emptyFiltered: '没有符合筛选的请求', emptyFilteredHow: '新的符合条件的请求会出现在这里。',
    copyCurl: '复制为 cURL', replay: '重放', editReplay: '编辑并重放', copyRecord: '复制记录', close: '关闭', copy: '复制', copied: '已复制', replayed: s => `已重放：${s}`,
    gone: '该请求已不再保留。', failedCall: m => m,
    explained: '出了什么问题', steps: '步骤', timeline: '时间线', request: '请求', response: '响应', record: '记录', stream: '流', headers: '头部', body: '正文',
    pretty: '格式化', raw: '原文', cut: (kept, all) => `仅保留了开头${all ? `：${all} 中的 ${kept}` : ''}。`, show: '显示', hide: '隐藏',
    notKept: '此请求的头部与正文未被保留。审计默认只保留失败请求的内容；设置 audit.bodies: all 可全部保留。',
    dns: '域名解析', connect: '连接', tls: 'TLS', wait: '等待', receive: '接收', gapRefresh: '刷新令牌', gapRetry: '重试等待', reused: '复用连接',
    attempt: n => `第 ${n} 次`, token: v => `令牌 v${v}`, total: '总计', client: '客户端', size: '大小', upstream: '上游', session: '会话', policy: '策略', identity: '身份', id: '编号', requestId: '请求编号', trace: '追踪',
    fromGateway: '发送', toGateway: '接收', sessionsAndTokens: '令牌与会话', noTokens: '此网关没有令牌。', state: '状态', version: '版本', age: '时长', nextRefresh: '下次刷新', expires: '到期',
    source: '来源', kept: '保存于', routes: '路由', refreshes: '刷新', refresh: '刷新', logOut: '退出登录', sure: '确定？', never: '从不', onDemand: '按需', within: t => `${t}后`,
    overdue: '已到', valid: '有效', expired: '已过期', missing: '缺失', authenticated: '已登录', loggingOut: '正在退出', unauthenticated: '未登录',
    refreshDone: n => `${n} 已刷新`, logOutDone: n => `${n} 已退出登录`,
    keyboard: '键盘', k_jk: '下一个、上一个', k_enter: '打开', k_esc: '关闭', k_slash: '筛选', k_g: '最新、最旧', k_p: '暂停、继续', k_c: '复制为 cURL', k_r: '重放', k_e: '编辑并重放',
    k_t: '令牌与会话', k_x: '清空列表', k_help: '本帮助', loginTitle: '管理密钥', loginHow: '网关启动时会打印它，并保存在就绪文件旁。它只留在此标签页。', loginBad: '网关不接受此密钥。', open: '打开',
    editTitle: '编辑并重放', editHow: '经过网关的路由、令牌与策略。被遮蔽的值会省略。', send: '发送', cancel: '取消', us: 'µs', ms: 'ms', s: 's', min: '分钟', h: '小时', d: '天',
  },
};

// reason: [what happened, what to do] in both languages.
const REASONS = {
  request_malformed: { en: ['The request is not valid HTTP.', 'Look at what the client sends; the connection was closed after the answer.'], zh: ['请求不是有效的 HTTP。', '请检查客户端发送的内容；回复后连接已关闭。'] },
  request_too_large: { en: ['The request is larger than a limit.', 'Raise limits.head_bytes_max or limits.body_bytes_max, or send less.'], zh: ['请求超过了限制。', '调高 limits.head_bytes_max 或 limits.body_bytes_max，或减小请求。'] },
  request_timed_out: { en: ['The client took too long to send its request.', 'The network is slow, or the client stopped half way.'], zh: ['客户端发送请求太慢。', '网络缓慢，或客户端中途停止。'] },
  route_not_found: { en: ['No route matches this path.', 'cryonet explain tells why each route did not match.'], zh: ['没有路由匹配此路径。', '使用 cryonet explain 查看各路由未匹配的原因。'] },
  host_denied: { en: ['The gateway does not answer for this Host.', 'List the name under listen.hosts if it is yours.'], zh: ['网关不服务此主机名。', '若确为你所用，请加入 listen.hosts。'] },
  origin_denied: { en: ['A page of another site tried to use the gateway.', 'List its origin under the route’s cors if it may.'], zh: ['其他网站的页面试图使用网关。', '若允许，请在路由的 cors 中列出其来源。'] },
  client_key_missing: { en: ['The client did not show the key that this gateway asks for.', 'Send it as X-CryoNet-Key.'], zh: ['客户端没有出示网关要求的密钥。', '请以 X-CryoNet-Key 发送。'] },
  loop_detected: { en: ['The request came back to the gateway it had passed.', 'An upstream’s address leads to this gateway.'], zh: ['请求回到了它经过的网关。', '某个上游地址指向了本网关。'] },
  override_unknown: { en: ['The request chose a token or policy that does not exist here.', 'Check the CryoNet-Token and CryoNet-Policy headers.'], zh: ['请求选择的令牌或策略不存在。', '请检查 CryoNet-Token 与 CryoNet-Policy。'] },
  token_missing: { en: ['There is no token to send, and no way to get one.', 'Log in, or set the token’s source.'], zh: ['没有可用的令牌，也无法获取。', '请登录，或配置令牌来源。'] },
  token_unavailable: { en: ['The token source failed and there is no valid token.', 'See the tokens panel; the source is asked again with the next request.'], zh: ['令牌来源失败，且没有有效令牌。', '请看令牌面板；下一个请求会再次尝试。'] },
  client_value_rejected: { en: ['The client sent a credential of its own, which this route refuses.', 'Leave it out, or allow it with on_client_value.'], zh: ['客户端自带了凭证，此路由不接受。', '请去掉它，或用 on_client_value 允许。'] },
  upstream_dns_failed: { en: ['The upstream’s name could not be resolved.', 'Check the upstream’s url and this machine’s DNS.'], zh: ['无法解析上游的域名。', '请检查上游 url 与本机 DNS。'] },
  connect_refused: { en: ['Nobody listens at the upstream’s address.', 'Is the upstream running? Are host and port right?'], zh: ['上游地址无人监听。', '上游是否在运行？主机与端口是否正确？'] },
  connect_timed_out: { en: ['The upstream did not take the connection in time.', 'A firewall may swallow it, or the upstream is overloaded.'], zh: ['未能及时连接上游。', '可能被防火墙拦截，或上游过载。'] },
  tls_failed: { en: ['The TLS handshake with the upstream failed.', 'Check whether it speaks TLS on this port.'], zh: ['与上游的 TLS 握手失败。', '请确认该端口使用 TLS。'] },
  tls_certificate_invalid: { en: ['The upstream’s certificate could not be verified.', 'It is expired, for another name, or of an authority that is not trusted: see tls.ca.'], zh: ['无法验证上游证书。', '证书过期、域名不符或签发者不受信任：见 tls.ca。'] },
  pin_mismatch: { en: ['The upstream’s key matches none of the pins.', 'The key has changed, or somebody stands in between.'], zh: ['上游的公钥与任何固定值都不符。', '密钥已更换，或有人在中间。'] },
  reset: { en: ['The upstream closed the connection before it answered.', 'It may have crashed or restarted.'], zh: ['上游在回复前关闭了连接。', '它可能崩溃或重启。'] },
  empty_response: { en: ['The upstream closed the connection without a word.', 'It may have crashed or restarted.'], zh: ['上游未作任何回复就关闭了连接。', '它可能崩溃或重启。'] },
  response_malformed: { en: ['The upstream’s answer is not valid HTTP.', 'The upstream, or something in front of it, is broken.'], zh: ['上游的回复不是有效的 HTTP。', '上游或其前面的设备有故障。'] },
  upstream_timed_out: { en: ['The upstream did not answer in time.', 'See timeouts.response_ms, idle_ms and total_ms of the upstream.'], zh: ['上游未及时回复。', '见上游的 timeouts.response_ms、idle_ms 与 total_ms。'] },
  upstream_status: { en: ['The upstream answered with an error status.', 'Its answer was passed on; the body tells more.'], zh: ['上游返回了错误状态。', '其回复已转交；正文中有更多信息。'] },
  refresh_rejected: { en: ['The token was refused, and so was its refresh: the login is over.', 'Log in again.'], zh: ['令牌被拒绝，刷新也被拒绝：登录已失效。', '请重新登录。'] },
  refresh_failed: { en: ['The token was refused, and its refresh could not be done.', 'The token endpoint failed; the next request tries again.'], zh: ['令牌被拒绝，刷新未能完成。', '令牌端点出错；下一个请求会再试。'] },
  refresh_window_exceeded: { en: ['The token is refused again and again.', 'There were too many refreshes in a short time; look at what the upstream wants.'], zh: ['令牌反复被拒绝。', '短时间内刷新过多；请查看上游的要求。'] },
  body_not_replayable: { en: ['The token was refused and the request body could not be sent again.', 'Bodies above 8 MiB are not kept.'], zh: ['令牌被拒绝，而请求正文无法重发。', '超过 8 MiB 的正文不会保留。'] },
  business_rejected: { en: ['The upstream said 200, but its envelope says no.', 'The business code tells why.'], zh: ['上游返回 200，但信封内容表示失败。', '业务码说明了原因。'] },
  response_not_json: { en: ['The policy needs JSON, and the answer is none.', 'The route may need another policy, or non_json: pass.'], zh: ['策略要求 JSON，而回复不是。', '该路由可能需要其他策略，或 non_json: pass。'] },
  response_truncated: { en: ['The answer broke off before its end.', 'The upstream or the network gave up half way.'], zh: ['回复在结束前中断。', '上游或网络中途断开。'] },
  response_too_large: { en: ['The answer is larger than the policy looks at.', 'Raise the policy’s max_body_bytes, or set oversize: pass.'], zh: ['回复超过了策略可检查的大小。', '调高 max_body_bytes，或设 oversize: pass。'] },
  secret_echoed: { en: ['The answer carried one of the gateway’s secrets and was stopped.', 'Ask why the upstream sends it back. See secrets.echo.'], zh: ['回复中含有网关保管的凭证，已被拦截。', '请查明上游为何回传凭证，见 secrets.echo。'] },
  policy_missing: { en: ['The policy of this route could not be applied.', 'Check the configuration.'], zh: ['无法应用此路由的策略。', '请检查配置。'] },
  client_gone: { en: ['The client left before the answer was complete.', 'Nothing is wrong with the upstream.'], zh: ['客户端在回复完成前离开。', '上游没有问题。'] },
  over_capacity: { en: ['The gateway had no room for another request.', 'See the limits; the client may try again.'], zh: ['网关已无余量。', '见各项限制；客户端可重试。'] },
  draining: { en: ['The gateway is about to end and takes no new requests.', 'Send it to its successor.'], zh: ['网关即将结束，不再接受新请求。', '请发送至其继任者。'] },
  audit_unavailable: { en: ['The record could not be written, and the audit insists on it.', 'Is the disk full? See audit.on_full.'], zh: ['审计记录无法写入，而配置要求必须写入。', '磁盘满了吗？见 audit.on_full。'] },
  breaker_open: { en: ['The upstream has failed too often; the gateway gives it a rest.', 'It is tried again by itself after a while.'], zh: ['上游失败过多，网关暂停访问。', '稍后会自动重试。'] },
  rate_limited: { en: ['The route’s rate limit is reached.', 'Slow down, or raise the limit.'], zh: ['已达到路由的速率限制。', '请放慢，或调高限制。'] },
  concurrency_limited: { en: ['The route has as many requests on their way as it may.', 'Wait for one to end, or raise the route’s limit.'], zh: ['此路由的并发请求已达上限。', '等待其中一个结束，或调高路由限制。'] },
  body_not_signable: { en: ['The request is to be signed, and its body is too large to be read first.', 'Send less, or sign without the body.'], zh: ['请求需要签名，但正文过大，无法先行读取。', '减小正文，或不对正文签名。'] },
  internal_error: { en: ['The gateway itself made a mistake.', 'Please report it with the record below.'], zh: ['网关自身出错。', '请附上下面的记录进行报告。'] },
};

const language = {
  now: 'en',
  choose(name) {
    this.now = WORDS[name] ? name : 'en';
    document.documentElement.lang = this.now === 'zh' ? 'zh-CN' : 'en';
    for (const element of document.querySelectorAll('[data-t]')) element.textContent = t(element.dataset.t);
    for (const element of document.querySelectorAll('[data-t-title]')) element.title = t(element.dataset.tTitle);
    for (const element of document.querySelectorAll('[data-t-placeholder]')) element.placeholder = t(element.dataset.tPlaceholder);
    for (const element of document.querySelectorAll('[data-t-label]')) element.setAttribute('aria-label', t(element.dataset.tLabel));
  },
};

function t(key, ...values) {
  const word = WORDS[language.now][key] ?? WORDS.en[key] ?? key;
  return typeof word === 'function' ? word(...values) : word;
}
