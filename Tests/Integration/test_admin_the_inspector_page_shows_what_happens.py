"""The inspector page in a real browser: list, live rows, filter, detail, replay, tokens, keyboard, themes, languages."""

import json
import os
import random
import re
import threading
import time

import pytest

import browser as chromium
from admin import Admin, with_admin
from client import Client, get
from gateway import ENVELOPE, configuration
from upstream import Answer, chunk, closed_port, script
from waiting import wait_until

pytestmark = pytest.mark.skipif(chromium.BINARY is None, reason="no chromium: scripts/dependencies test installs it")
TOKEN = "the-value-of-the-token"
# Set to a folder to look at the page with your own eyes.
PICTURES = os.environ.get("CRYONET_PICTURES")
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\u202e\u0007\u001b[31m{{script}}'\"&amp;"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = chromium.Browser(str(tmp_path_factory.mktemp("browser")))
    yield browser
    browser.close()


@pytest.fixture
def admin(gateway, upstream, endpoint):
    upstream.on("GET", "/news/list", endpoint.guard(Answer(json_body={"code": 0, "data": {"list": [1, 2]}})))
    upstream.on("POST", "/orders", endpoint.guard(lambda request: Answer(json_body={"code": 40013, "msg": "余额不足", "big": 12345678901234567890})))
    upstream.on("GET", "/broken", endpoint.guard(Answer(500, body=b"oops", headers=[("Content-Type", "text/plain")])))
    upstream.on("POST", "/echo", lambda request: Answer(500, json_body={"got": request.body.decode(), "q": request.target}))
    config = configuration(upstream, route={"token": "app", "policy": "p"}, policies={"p": ENVELOPE}, tokens={"app": endpoint.configuration()},
                           audit={"bodies": "all"})
    config["upstreams"]["down"] = {"url": f"http://127.0.0.1:{closed_port()}"}
    config["routes"][:0] = [{"name": "down", "path": "/down", "upstream": "down"}, {"name": "echo", "path": "/echo", "upstream": "api"}]
    return Admin(gateway(with_admin(config), endpoint=endpoint))


@pytest.fixture
def page(browser, admin):
    pages = []

    def opened(key=True, **options):
        page = browser.page(**options)
        pages.append(page)
        page.open(f"{admin.url}/" + (f"#key={admin.key}" if key else ""))
        if key:
            page.wait("document.getElementById('state').dataset.state === 'live'")
        return page
    yield opened
    for one in pages:
        assert one.faults == [], "the page complains"
        assert all(url.startswith((admin.url + "/", "about:", "blob:", "data:")) for url in one.urls), one.urls
        assert one.run("window.hacked === undefined")
        one.close()


def picture(page, name):
    if PICTURES:
        os.makedirs(PICTURES, exist_ok=True)
        page.run("new Promise(done => setTimeout(done, 1500))")
        page.screenshot(os.path.join(PICTURES, name + ".png"))


def mixed_traffic(admin):
    for number in range(6):
        get(admin.gateway, f"/news/list?page={number}", [("User-Agent", "app/1.0")])
    with Client(admin.gateway.port) as client:
        client.request("POST", "/orders", [("Content-Type", "application/json")], b'{"sku":"A-1","count":2}')
    get(admin.gateway, "/down")
    get(admin.gateway, "/broken")
    admin.gateway.endpoint.revoke()
    get(admin.gateway, "/news/list?after=refresh")


def targets(page):
    """What the rows in sight show, from top to bottom."""
    return page.run("""[...document.querySelectorAll('#space .row')].map(row => [new DOMMatrix(getComputedStyle(row).transform).m42, row.querySelector('.target').textContent])
        .sort((a, b) => a[0] - b[0]).map(pair => pair[1])""")


def shows(page, wanted):
    wait_until(lambda: targets(page) == wanted, 20, f"{wanted}, not {targets(page)}")


def test_the_page_is_one_document_under_a_strict_policy(admin):
    first, second = admin.get("/", key=False), admin.get("/", key=False)
    assert first.status == 200 and first.header("Content-Type") == "text/html; charset=utf-8" and first.header("Cache-Control") == "no-store"
    nonces = [re.search(r"script-src 'nonce-([a-z0-9]+)'", answer.header("Content-Security-Policy"))[1] for answer in (first, second)]
    assert nonces[0] != nonces[1] and first.body.count(nonces[0].encode()) == 2
    policy = first.header("Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert b"{{" not in first.body.replace(b"`${", b"") or b"{{nonce}}" not in first.body
    assert not re.search(rb"(src|href)=\"?https?:", first.body) and b"innerHTML" not in first.body
    assert admin.key.encode() not in first.body


def test_without_the_key_it_asks_for_one(page, admin):
    view = page(key=False)
    view.wait("document.getElementById('login').open")
    view.type("wrong")
    view.press("Enter")
    view.wait("document.querySelector('#login .problem') !== null")
    view.type(admin.key)
    view.press("Enter")
    view.wait("document.getElementById('state').dataset.state === 'live'")
    # The browser itself complains of the refused calls.
    view.faults = [fault for fault in view.faults if "401" not in fault]
    assert view.run("sessionStorage.getItem('cryonet.key')") == admin.key and view.run("location.hash") == ""


def test_what_was_there_is_listed_and_what_comes_appears(page, admin):
    get(admin.gateway, "/news/list?before")
    view = page()
    assert view.run("location.href").endswith("/"), "the key does not stay in the address"
    shows(view, ["/news/list?before"])
    get(admin.gateway, "/news/list?after")
    shows(view, ["/news/list?after", "/news/list?before"])
    assert view.text("#count") == "2 exchanges"


def test_the_filter_speaks_the_language_of_the_commands(page, admin):
    mixed_traffic(admin)
    view = page()
    view.press("/")
    view.type('kind=business or status=502')
    view.press("Enter")
    shows(view, ["/down", "/orders"])
    get(admin.gateway, "/news/list?hidden")
    get(admin.gateway, "/down?shown")
    shows(view, ["/down?shown", "/down", "/orders"])
    view.run("inspector.setFilter('statsu=1')")
    view.wait("!document.getElementById('filter-problem').hidden")
    assert "status" in view.text("#filter-problem")
    view.click("#chips button", "Business")
    shows(view, ["/orders"])
    view.click("#chips button", "All")
    view.wait("document.querySelectorAll('#space .row').length === 12")
    # The browser complains of the refused calls, of each when it comes to it.
    view.faults = [fault for fault in view.faults if "400" not in fault]


def test_the_detail_explains_and_shows_everything(page, admin):
    mixed_traffic(admin)
    view = page()
    view.click("#space .row .target", "/orders")
    view.wait("!document.getElementById('detail').hidden && !!document.querySelector('.explained')")
    assert "its envelope says no" in view.text(".explained") and "40013" in view.text(".explained")
    bodies = view.texts(".detail pre.body")
    assert '"sku": "A-1"' in bodies[0] and "余额不足" in bodies[1] and "12345678901234567890" in bodies[1]
    assert len(view.texts(".fall .track")) == 1 and "accepted" in view.text(".steps")
    assert "***" in view.text(".detail") or TOKEN not in view.text(".detail")
    view.click("#space .row .target", "/news/list?after=refresh")
    view.wait("document.querySelectorAll('.fall .track').length === 2")
    assert "led" in view.text(".steps") and "token refresh" in view.text(".legend")
    view.press("Escape")
    assert view.run("document.getElementById('detail').hidden")


def test_an_exchange_is_replayed_as_it_was_and_edited(page, admin):
    with Client(admin.gateway.port) as client:
        client.request("POST", "/echo?n=1", [("Content-Type", "text/plain")], b"first words")
    view = page()
    view.click("#space .row .target", "/echo?n=1")
    view.wait("!!document.querySelector('.detail .buttons')")
    view.click(".detail .buttons button", "Replay")
    view.wait("document.querySelectorAll('#space .row').length === 2")
    view.wait("detail.record?.client === 'replay'")
    assert "first words" in view.texts(".detail pre.body")[1]
    view.click(".detail .buttons button", "Edit and replay")
    view.wait("document.getElementById('edit').open")
    view.run("""(() => { const fields = document.querySelectorAll('#edit input, #edit textarea');
        fields[1].value = '/echo?n=2'; fields[3].value = 'other words'; })()""")
    view.click("#edit button", "Send")
    shows(view, ["/echo?n=2", "/echo?n=1", "/echo?n=1"])
    view.wait("detail.record?.target === '/echo?n=2'")
    assert "other words" in view.texts(".detail pre.body")[1]


def test_a_curl_command_is_copied(page, admin):
    mixed_traffic(admin)
    view = page()
    view.click("#space .row .target", "/orders")
    view.wait("!!document.querySelector('.detail .buttons')")
    view.run("window.copied = ''; copy = async text => { window.copied = text; }")
    view.press("c")
    view.wait("window.copied !== ''")
    command = view.run("window.copied")
    assert f"http://127.0.0.1:{admin.gateway.port}/orders" in command and '{"sku":"A-1","count":2}' in command


def test_the_tokens_are_shown_refreshed_and_logged_out(page, admin):
    mixed_traffic(admin)
    view = page()
    view.press("t")
    view.wait("!!document.querySelector('.card')")
    before = admin.token()["version"]
    assert f"v{before}" in view.text(".card") and "valid" in view.text(".card")
    view.click(".card button", "Refresh")
    view.wait(f"document.querySelector('.card').textContent.includes('v{before + 1}')")
    view.click(".card button", "Log out")
    view.click(".card button", "Sure?")
    view.wait("document.querySelector('.card').textContent.includes('logged out')")
    assert admin.session()["state"] == "unauthenticated"


def test_the_keyboard_is_enough(page, admin):
    for number in range(5):
        get(admin.gateway, f"/news/list?{number}")
    view = page()
    shows(view, [f"/news/list?{number}" for number in (4, 3, 2, 1, 0)])
    selected = "document.querySelector('#space .row[aria-selected=true] .target')?.textContent"
    for key, wanted in [("j", 4), ("j", 3), ("j", 2), ("k", 3), ("G", 0), ("g", 4)]:
        view.press(key, shift=key.isupper())
        view.wait(f"{selected} === '/news/list?{wanted}'")
    view.press("Enter")
    view.wait("!document.getElementById('detail').hidden")
    view.press("j")
    view.wait("document.querySelector('.headline .target')?.textContent === '/news/list?3'")
    view.press("Escape")
    view.press("?")
    view.wait("document.getElementById('keys').open")
    view.press("Escape")
    view.wait("!document.getElementById('keys').open")
    view.press("p")
    view.wait("document.getElementById('state').dataset.state === 'paused'")
    get(admin.gateway, "/news/list?later")
    view.wait("document.getElementById('state').textContent.includes('1 new')")
    assert targets(view)[0] == "/news/list?4"
    view.press("p")
    view.wait("document.querySelector('#count').textContent === '6 exchanges'")


def test_hostile_text_is_only_text(page, admin):
    with Client(admin.gateway.port) as client:
        quoted = "".join(f"%{byte:02X}" if byte < 33 or byte > 126 else chr(byte) for byte in HOSTILE.encode())
        client.request("POST", "/echo?q=" + quoted.replace("%3C", "<").replace("<", "%3C"), [("X-Evil", HOSTILE.replace("\u0007", "").replace("\u001b", "").encode().decode("latin-1")),
                                                                ("Content-Type", "application/json")], HOSTILE.encode())
        client.request("POST", "/echo", [("Content-Type", "application/json")], json.dumps({HOSTILE: HOSTILE}).encode())
    view = page()
    view.wait("document.querySelectorAll('#space .row').length === 2")
    for index in (0, 1):
        view.run(f"inspector.list.jump(false); inspector.list.move({index}); inspector.open(inspector.list.selected)")
        view.wait(f"detail.record?.id === inspector.list.at({index}).id")
        assert "</script><script>window.hacked=1" in view.text(".detail")
        view.click(".detail h3 button", "Show")
    assert view.run("document.querySelectorAll('img, #space script, .detail script').length") == 0


def test_ten_thousand_rows_stay_smooth(page, admin):
    total = 11_000
    view = page()
    with Client(admin.gateway.port) as client:
        for start in range(0, total, 100):
            client.send(b"".join(f"GET /none/{number} HTTP/1.1\r\nHost: {client.authority}\r\nOrigin: http://evil.example\r\n\r\n".encode()
                                 for number in range(start, start + 100)))
            for _ in range(100):
                assert client.read_response("GET").status == 403
    view.wait("document.getElementById('count').textContent === '10,000 exchanges'", 60)
    shows_first = f"/none/{total - 1}"
    view.wait(f"document.querySelectorAll('#space .row').length < 100")
    wait_until(lambda: targets(view)[0] == shows_first, 20, "the newest row")
    frames = view.run("""new Promise(done => {
        const scroll = document.getElementById('scroll');
        const times = []; let last = performance.now(); let step = 0;
        const next = () => {
            const now = performance.now(); times.push(now - last); last = now;
            if (++step > 120) return done(times.sort((a, b) => a - b));
            scroll.scrollTop = step * 2400; requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
    })""")
    # A frame takes 16 ms; on a machine that is busy with other things many take longer, but none can take as long as ten thousand elements would.
    assert frames[len(frames) // 2] < 150, frames[-10:]
    assert view.run("document.querySelectorAll('#space .row').length") < 100
    view.run("document.getElementById('scroll').scrollTop = 5000 * 30")
    view.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    middle = view.wait("document.elementFromPoint(300, 400)?.closest('.row')?.drawn")
    get(admin.gateway, "/news/list?one-more")
    view.wait("!document.getElementById('newer').hidden")
    view.wait(f"document.elementFromPoint(300, 400)?.closest('.row')?.drawn === '{middle}'", what="the view stays where the reader is")


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(page, admin, dark):
    mixed_traffic(admin)
    view = page(dark=dark)
    view.wait("document.querySelectorAll('#space .row').length === 10")
    background = view.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    view.click("#space .row .target", "/news/list?after=refresh")
    view.wait("document.querySelectorAll('.fall .track').length === 2")
    picture(view, "dark" if dark else "light")
    if not dark:
        view.press("Escape")
        picture(view, "list")
        view.press("t")
        view.wait("!!document.querySelector('.card')")
        picture(view, "tokens")
        view.press("Escape")
        view.click("#space .row .target", "/orders")
        view.wait("!!document.querySelector('.explained')")
        view.click(".detail .buttons button", "Edit and replay")
        picture(view, "edit")
        view.press("Escape")
        view.press("?")
        picture(view, "keys")
        view.press("Escape")
    view.click("#theme")
    view.wait(f"getComputedStyle(document.body).backgroundColor !== 'never' && inspector.settings.theme !== undefined")


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_stream_is_shown_from_its_first_byte_to_its_end(page, admin, upstream):
    gates = [threading.Event() for _ in range(3)]
    upstream.on("GET", "/echo", script(STREAM, gates[0], chunk(b"data: 1\n\n"), gates[1], chunk(b"data: 2\n\ndata: 3\n\n"), gates[2], b"0\r\n\r\n"))
    timers = [threading.Timer(.15 * (index + 1), gate.set) for index, gate in enumerate(gates)]
    for timer in timers:
        timer.start()
    get(admin.gateway, "/echo")
    view = page()
    view.click("#space .row .target", "/echo")
    view.wait("!!document.querySelector('.detail .track.alone')")
    assert view.run("document.querySelectorAll('.detail .track.alone i').length") >= 3
    facts = " ".join(view.texts(".detail p.facts span"))
    assert "3 events" in facts and "events/s" in facts and "to the first byte" in facts and "after the last event" in facts
    picture(view, "stream")
    view.click("#language")
    assert "3 个事件" in " ".join(view.texts(".detail p.facts span"))


def test_what_is_under_way_tells_what_happens_inside(page, admin, upstream):
    gate, end = threading.Event(), threading.Event()
    upstream.on("GET", "/echo", script(STREAM, chunk(b"data: 1\n\n"), gate, chunk(b"data: 2\n\n"), end, b"0\r\n\r\n"))
    view = page()
    assert view.run("document.getElementById('running').hidden")
    view.press("i")
    view.wait("document.getElementById('state').dataset.state === 'live' && document.getElementById('running').textContent.includes('Nothing is under way')")
    request = threading.Thread(target=lambda: get(admin.gateway, "/echo?slow"), daemon=True)
    request.start()
    view.click("#running .run .target", "/echo?slow")
    view.wait("document.querySelector('.detail .told')?.textContent.includes('received')")
    assert "streams" in view.text(".detail .facts") and "answer begins" in view.text(".detail .told")
    assert view.run("document.querySelectorAll('.detail .track.alone i').length") >= 2
    gate.set()
    view.wait("detail.running.get(detail.asked).received > 15")
    picture(view, "running")
    end.set()
    request.join(20)
    view.wait("detail.record?.target === '/echo?slow'", what="its record")
    told = view.text(".detail .told")
    assert "finished" in told and "client takes nothing" not in told and "200" in told
    view.wait("document.getElementById('running').textContent.includes('Nothing is under way')")
    shows(view, ["/echo?slow"])
    picture(view, "was-running")
    view.press("i")
    view.wait("document.getElementById('running').hidden")
    get(admin.gateway, "/news/list?after")
    shows(view, ["/news/list?after", "/echo?slow"])


def test_a_token_that_is_in_memory_only_is_marked(page, admin, endpoint, tmp_path):
    config = json.loads(json.dumps(admin.gateway.config))
    store = tmp_path / "app.json"
    config["tokens"]["app"]["store"] = {"file": str(store)}
    admin.gateway.expected_errors = [r"store|could lose|written"]
    admin.gateway.reload(config)
    store.unlink(missing_ok=True)
    store.mkdir()
    endpoint.revoke()
    get(admin.gateway, "/news/list?renewed")
    view = page()
    view.click("#space .row .target", "/news/list?renewed")
    view.wait("!!document.querySelector('.explained')")
    assert "in memory only" in view.text(".explained") and "unsaved" in view.text(".fall")
    assert view.run("document.querySelector('#space .flag.unsaved').title") == "The token is in memory only"
    picture(view, "unsaved")
    view.click("#language")
    view.wait("document.querySelector('#space .flag.unsaved')?.title === '令牌仅在内存中'")
    assert "令牌仅在内存中" in view.text(".explained")


def test_a_narrow_screen_has_room(page, admin):
    mixed_traffic(admin)
    view = page(width=390, height=844, scale=2)
    view.wait("document.querySelectorAll('#space .row').length === 10")
    assert view.run("document.documentElement.scrollWidth") <= 390
    picture(view, "narrow")
    view.click("#space .row .target", "/orders")
    view.wait("!!document.querySelector('.explained')")
    assert view.run("document.getElementById('detail').getBoundingClientRect().width") == 390
    assert view.run("document.getElementById('detail').scrollWidth") <= 390
    picture(view, "narrow-detail")


def test_it_speaks_chinese(page, admin):
    mixed_traffic(admin)
    view = page(language="zh-CN")
    assert view.text("#open-tokens") == "令牌" and view.run("document.documentElement.lang") == "zh-CN"
    view.click("#space .row .target", "/orders")
    view.wait("!!document.querySelector('.explained')")
    assert "信封" in view.text(".explained")
    picture(view, "chinese")
    view.click("#language")
    assert view.text("#open-tokens") == "Tokens"
    words = view.run("JSON.stringify([Object.keys(WORDS.en), Object.keys(WORDS.zh)])")
    english, chinese = json.loads(words)
    assert sorted(english) == sorted(chinese)


def test_every_failure_is_explained_in_words(page):
    view = page()
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "Sources", "CryoPipeline", "Failure", "FailureReason.swift"), encoding="utf-8") as file:
        cases = re.findall(r"^    case (\w+)(?: = \"(\w+)\")?$", file.read(), re.MULTILINE)
    reasons = {raw or name for name, raw in cases} - {"admin_key_missing", "admin_refused"}
    explained = set(view.run("Object.keys(REASONS)"))
    assert reasons <= explained, reasons - explained


def test_the_archive_is_downloaded(page, admin):
    mixed_traffic(admin)
    view = page()
    view.run("""(() => { window.saved = null; const make = URL.createObjectURL;
        URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return make.call(URL, blob); }; })()""")
    view.click("#download-har")
    view.wait("window.saved !== null")
    archive = json.loads(view.run("window.saved"))
    assert archive["log"]["version"] == "1.2" and len(archive["log"]["entries"]) == 10


def test_a_stream_is_shown_from_its_first_event_to_its_last(page, admin, upstream):
    upstream.on("POST", "/echo", Answer(200, body=b"data: 1\n\nid: x\ndata: 2\n\n", headers=[("Content-Type", "text/event-stream")]))
    with Client(admin.gateway.port) as client:
        assert client.request("POST", "/echo").status == 200
    view = page()
    view.click("#space .row .target", "/echo")
    view.wait("!!document.querySelector('.track.alone i')")
    told = view.run("Object.fromEntries([...document.querySelectorAll('.track.alone ~ .pairs dt')].map(one => [one.textContent, one.nextSibling.textContent]))")
    assert told["events"] == "2" and told["last event id"] == "x" and "first event" in told
    picture(view, "stream")


@pytest.mark.skipif(not PICTURES, reason="CRYONET_PICTURES names no folder")
def test_the_pictures_of_the_documentation(browser, gateway, upstream, endpoint):
    """Not a test of anything: traffic as an app makes it, for pictures with something on them."""
    def slowly(seconds, answer):
        def handler(request):
            time.sleep(seconds * random.uniform(.4, 1.6))
            return answer
        return endpoint.guard(handler)
    news = {"code": 0, "msg": "ok", "data": {"list": [{"id": 8812, "title": "霜降", "tags": ["weather", "autumn"], "views": 40127}], "next": None}}
    upstream.on("GET", "/news/list", slowly(.02, Answer(json_body=news)))
    upstream.on("GET", "/users/me", slowly(.008, Answer(json_body={"code": 0, "data": {"name": "Lin"}})))
    upstream.on("POST", "/orders", slowly(.06, Answer(json_body={"code": 40013, "msg": "insufficient balance"})))
    upstream.on("GET", "/reports/daily", slowly(.7, Answer(json_body={"code": 0, "data": []})))
    upstream.on("GET", "/search", slowly(.03, Answer(503, json_body={"error": "busy"})))
    config = configuration(upstream, route={"token": "app", "policy": "p"}, policies={"p": ENVELOPE}, tokens={"app": endpoint.configuration()},
                           audit={"bodies": "all"})
    config["upstreams"]["pay"] = {"url": f"http://127.0.0.1:{closed_port()}"}
    config["routes"][0]["name"] = "app"
    config["routes"][:0] = [{"name": "news", "path": "/news/*", "upstream": "api", "token": "app", "policy": "p"},
                            {"name": "pay", "path": "/pay/*", "upstream": "pay"}]
    gw = gateway(with_admin(config), endpoint=endpoint)
    admin = Admin(gw)
    agent = [("User-Agent", "Frost/4.2 (iPhone; iOS 19.1)"), ("Accept", "application/json")]
    random.seed(7)
    end = time.monotonic() + 45
    while time.monotonic() < end:
        for _ in range(random.randrange(1, 5)):
            target = random.choice([f"/news/list?page={random.randrange(1, 9)}&size=20"] * 7 + ["/users/me"] * 4 + ["/reports/daily"] + ["/search?q=frost"])
            get(gw, target, agent)
        if random.random() < .12:
            with Client(gw.port) as client:
                client.request("POST", "/orders", [*agent, ("Content-Type", "application/json")], b'{"sku":"ICE-7","count":2}')
        if random.random() < .04:
            get(gw, "/pay/intents/19", agent)
    endpoint.revoke()
    get(gw, "/news/list?page=1&size=20", agent)
    get(gw, "/users/me", agent)
    for name, options in [("inspector-light", {}), ("inspector-dark", {"dark": True}), ("inspector-narrow", {"width": 390, "height": 844})]:
        view = browser.page(**options)
        view.open(f"{admin.url}/#key={admin.key}")
        view.wait("document.querySelectorAll('#space .row').length > 8")
        if name == "inspector-light":
            view.run("inspector.open(inspector.list.rows.findLast(row => row.isRefreshed).id); inspector.list.select(inspector.list.rows.findLast(row => row.isRefreshed).id)")
        if name == "inspector-dark":
            view.run("inspector.list.select(inspector.list.rows.findLast(row => row.business).id); inspector.open(inspector.list.selected)")
        picture(view, name)
        view.close()
