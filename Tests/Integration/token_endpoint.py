"""A token endpoint on a scripted upstream: rotating, single-use refresh tokens, in the login or the OAuth 2.0 form."""

import json
import threading
import uuid
from urllib.parse import parse_qs

from upstream import Answer, GATE_SECONDS

DEAD = {"e": "token is dead"}


class TokenEndpoint:
    """Issues `access`/`refresh` pairs. `guard` protects a resource of the same upstream with the current token."""

    def __init__(self, upstream, path="/auth/refresh", style="login", expires_in=3600, rotate=True, grace=False):
        """With `grace`, the refresh token used last is taken once more, as many servers do for a client that lost the answer."""
        self.upstream, self.path, self.style = upstream, path, style
        self.expires_in, self.rotate = expires_in, rotate
        self.grace = grace
        self.label = uuid.uuid4().hex
        self.version = 0
        self.tokens = []
        self.calls = []
        self.used_refresh_tokens = set()
        self.lock = threading.Condition()
        self.refused = 0
        self.refused_quorum = 0
        self.gate = None
        self.answers = []
        self.access, self.refresh = self.issue()
        upstream.on("POST", path, self.answer)

    @property
    def url(self):
        return self.upstream.url + self.path

    def issue(self):
        self.version += 1
        access = f"access-{self.version}-{self.label}"
        refresh = f"refresh-{self.version if self.rotate else 1}-{self.label}"
        self.tokens += [access, refresh]
        return access, refresh

    def revoke(self):
        """The current access token stops working; the refresh token stays good."""
        with self.lock:
            self.access = f"nobody-holds-this-{self.label}"

    def hold_refusals_until(self, count):
        """No 401 is answered before `count` requests with a dead token have arrived."""
        self.refused_quorum = self.refused + count

    def environment(self):
        return {"APP_TOKEN": self.tokens[0], "APP_REFRESH_TOKEN": self.tokens[1]}

    def configuration(self, store=None, **parts):
        """The `tokens.app` section for this endpoint."""
        section = {"initial": {"token": "env:APP_TOKEN", "refresh_token": "env:APP_REFRESH_TOKEN"}}
        if self.style == "login":
            section["login"] = {
                "refresh": {"method": "POST", "url": self.url, "json": {"refreshToken": "{refresh_token}"}},
                "fields": {"token": "data.token", "refresh_token": "data.refreshToken", "expires_in": "data.expiresIn"},
                "success": {"field": "code", "equals": 0}}
        else:
            section["oauth2"] = {"grant_type": "refresh_token", "token_endpoint": self.url,
                                 "client_id": "cryonet-test", "client_secret": "env:CLIENT_SECRET"}
        if store:
            section["store"] = {"file": str(store)}
        section.update(parts)
        return section

    # Serving

    def answer(self, request):
        presented = self.presented(request)
        with self.lock:
            number = len(self.calls)
            self.calls.append(presented)
            self.lock.notify_all()
        if self.gate is not None:
            assert self.gate.wait(GATE_SECONDS), "the token endpoint's gate was never opened"
        if number < len(self.answers):
            scripted = self.answers[number]
            if scripted is not None:
                return scripted
        with self.lock:
            is_repeated = self.grace and len(self.tokens) > 3 and presented == self.tokens[-3]
            if not is_repeated and (presented != self.refresh or presented in self.used_refresh_tokens):
                return self.refusal()
            if self.rotate:
                self.used_refresh_tokens.add(presented)
            self.access, self.refresh = self.issue()
            return self.grant()

    def presented(self, request):
        if self.style == "login":
            return json.loads(request.body or b"{}").get("refreshToken")
        return parse_qs(request.body.decode()).get("refresh_token", [None])[0]

    def grant(self):
        if self.style == "login":
            return Answer(json_body={"code": 0, "msg": "ok", "data": {
                "token": self.access, "refreshToken": self.refresh, "expiresIn": self.expires_in}})
        return Answer(json_body={"access_token": self.access, "token_type": "Bearer", "expires_in": self.expires_in,
                                 "refresh_token": self.refresh})

    def refusal(self):
        if self.style == "login":
            return Answer(json_body={"code": 40101, "msg": "refresh token is not valid", "data": None})
        return Answer(400, json_body={"error": "invalid_grant"})

    def guard(self, answer):
        """A handler: 401 unless the request carries the current access token, else `answer` (or what it returns)."""
        def respond(request):
            with self.lock:
                good = request.header("Authorization") == f"Bearer {self.access}"
                if not good:
                    self.refused += 1
                    self.lock.notify_all()
                    if self.refused_quorum:
                        assert self.lock.wait_for(lambda: self.refused >= self.refused_quorum, GATE_SECONDS), \
                            f"only {self.refused} of {self.refused_quorum} dead requests arrived"
            if not good:
                return Answer(401, json_body=DEAD, headers=[("WWW-Authenticate", "Bearer")])
            return answer(request) if callable(answer) else answer
        return respond

    def wait_calls(self, count, timeout=10.0):
        with self.lock:
            assert self.lock.wait_for(lambda: len(self.calls) >= count, timeout), f"{len(self.calls)} calls, wanted {count}"
