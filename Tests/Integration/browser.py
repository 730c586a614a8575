"""A headless Chromium, driven over its DevTools protocol on two pipes: no port, no driver, nothing but the browser itself."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import threading

from waiting import wait_until

BINARY = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ANSWER_SECONDS = 60.0
FLAGS = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions",
         "--disable-sync", "--no-default-browser-check", "--password-store=basic", "--force-color-profile=srgb", "--lang=en-US"]


class Browser:
    def __init__(self, folder):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4: away with everything that could be in the way first.
        child_in, child_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out))

        def place():
            os.dup2(child_in, 3)
            os.dup2(child_out, 4)
        with open(os.path.join(folder, "chromium.log"), "wb") as log:
            self.process = subprocess.Popen([BINARY, *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, preexec_fn=place, pass_fds=(3, 4), env={**os.environ, "HOME": str(folder)})
        for fd in (theirs_in, theirs_out, child_in, child_out):
            os.close(fd)
        self.input, self.output = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self.answers, self.listeners, self.lock, self.last = {}, {}, threading.Condition(), 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        buffer = b""
        while piece := os.read(self.input.fileno(), 1 << 20):
            *messages, buffer = (buffer + piece).split(b"\0")
            for text in messages:
                message = json.loads(text)
                with self.lock:
                    if "id" in message:
                        self.answers[message["id"]] = message
                        self.lock.notify_all()
                    elif listener := self.listeners.get(message.get("sessionId")):
                        listener(message["method"], message["params"])

    def call(self, method, session=None, **params):
        with self.lock:
            self.last += 1
            number = self.last
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self.output.write(json.dumps(message).encode() + b"\0")
        self.output.flush()
        with self.lock:
            assert self.lock.wait_for(lambda: number in self.answers, ANSWER_SECONDS), f"no answer to {method}"
            answer = self.answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def page(self, **options):
        return Page(self, **options)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(20)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.output.close()
        self.reader.join(10)
        self.input.close()


class Page:
    """One page in a profile of its own, of a given size, light or dark."""

    def __init__(self, browser, width=1280, height=800, dark=False, scale=1, language="en-US"):
        self.browser = browser
        self.faults, self.urls = [], []
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        self.target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.listeners[self.session] = self.heard
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.call("Emulation.setLocaleOverride", locale=language)
        self.call("Network.setUserAgentOverride", userAgent="test", acceptLanguage=language)
        self.dark(dark)

    def heard(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.faults.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.faults.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.faults.append(str(params["args"]))
        elif method == "Network.requestWillBeSent":
            self.urls.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.faults.append(f"a dialog: {params['message']}")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"].get("exception", {}).get("description")
        return result["result"].get("value")

    def wait(self, script, seconds=20.0, what=None):
        return wait_until(lambda: self.run(script), seconds, what or script)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def texts(self, selector):
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.textContent)")

    def click(self, selector, text=None):
        find = f"[...document.querySelectorAll({json.dumps(selector)})].find(one => {json.dumps(text)} === null || one.textContent.trim() === {json.dumps(text)})"
        self.wait(f"!!({find})", what=f"{selector} {text or ''}")
        box = self.run(f"(() => {{ const box = ({find}).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, key, shift=False):
        codes = {"Enter": 13, "Escape": 27}
        event = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), "modifiers": 8 if shift else 0}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        with open(path, "wb") as file:
            file.write(data)

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
        self.browser.listeners.pop(self.session, None)
