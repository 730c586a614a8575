"""Writes audit files as Audit.md tells, without the gateway: many records, and each kind of tampering with one."""

import hashlib
import json

RECORD = ('{"v":1,"time":"2026-11-30T07:00:00.%06dZ","id":"%s","client":"127.0.0.1:4711","route":"api","policy":null,"upstream":"api",'
          '"method":"GET","target":"/news/list?page=%d","steps":{"accept":"accepted","read":"parsed","route":"matched","inject":"injected",'
          '"forward":"responded","refresh":"not_needed","retry":"not_needed","normalize":"passed_through","reply":"sent","audit":"written"},'
          '"attempts":[{"number":1,"start_us":12,"duration_us":345,"status":200,"outcome":"responded","token_version":1,"reused":true,'
          '"dns_us":0,"connect_us":0,"tls_us":0,"first_byte_us":301,"request_bytes":0,"response_bytes":300}],"status":200,'
          '"request_bytes":0,"response_bytes":300,"duration_us":357,"failure":null,"business_code":null}')
KINDS = ["edited", "rehashed", "removed", "inserted", "forged_record", "reordered", "truncated", "beheaded", "unchained"]


def identity(number):
    return "%026d" % number


def sealed(text, sequence, previous):
    """(line, hash): `text` is one JSON object, `previous` 32 bytes."""
    hashed = f'{text[:-1]},"chain":{{"seq":{sequence}'
    digest = hashlib.sha256(previous + hashed.encode()).digest()
    return f'{hashed},"hash":"{digest.hex()}"}}}}', digest


def write(path, count):
    """`count` records between an opening and a closing; the numbers are 2 to count + 1. Returns the head's hash as text."""
    previous = bytes(32)
    with open(path, "w", encoding="utf-8") as file:
        def put(text, sequence):
            nonlocal previous
            line, previous = sealed(text, sequence, previous)
            file.write(line + "\n")
        put('{"audit":"opened","v":1,"time":"2026-11-30T07:00:00.000000Z","reason":"start","previous":null}', 1)
        for number in range(2, count + 2):
            put(RECORD % (number % 1_000_000, identity(number), number), number)
        put('{"audit":"closed","v":1,"time":"2026-11-30T07:00:00.000000Z","reason":"stop","count":%d,"head":"%s"}'
            % (count + 1, previous.hex()), count + 2)
    return previous.hex()


def tamper(source, target, kind, place):
    """Copies with one change at line `place` (its record has that number too). Returns (kind, line, first, last, id) of the finding."""
    one = (place, place, place, identity(place))
    expected = {"edited": ("edited", *one), "rehashed": ("edited", place + 1, place + 1, place + 1, identity(place + 1)),
                "removed": ("removed", place, place, place + 2, None), "inserted": ("inserted", place + 1, place - 5, place - 5, identity(place - 5)),
                "forged_record": ("inserted", place, place, place, "forged"),
                "reordered": ("reordered", place + 1, place, place, identity(place)), "truncated": ("truncated", place, None, None, identity(place)),
                "beheaded": ("beheaded", 1, 1, place, identity(place + 1)), "unchained": ("edited", *one)}[kind]
    earlier = before = held = None
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        for number, line in enumerate(lines, 1):
            if number == place - 5:
                earlier = line
            if number == place - 1:
                before = bytes.fromhex(json.loads(line)["chain"]["hash"])
            if number == place:
                text = RECORD % (place % 1_000_000, identity(place), place)
                if kind == "edited":
                    line = line.replace('"status":200,"request', '"status":404,"request')
                elif kind == "rehashed":
                    line = sealed(text.replace('"status":200,"request', '"status":404,"request'), place, before)[0] + "\n"
                elif kind == "inserted":
                    line += earlier
                elif kind == "forged_record":
                    line = sealed('{"v":1,"id":"forged"}', place, before)[0] + "\n" + line
                elif kind == "unchained":
                    line = text + "\n"
                elif kind == "reordered":
                    held, line = line, ""
            if kind == "removed" and place <= number <= place + 2 or kind == "truncated" and number > place:
                continue
            if kind == "beheaded" and number <= place:
                continue
            out.write(line)
            if held and number == place + 1:
                out.write(held)
                held = None
    return expected
