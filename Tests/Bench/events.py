"""How late an event arrives: a source that stamps each event, and readers that compare the stamp with the same clock.

  events.py source PORT            serves GET with an event stream: RATE events a second on each connection, evenly spread
  events.py read PORT STREAMS SECONDS   prints p50 and p99 of the delay in µs, as JSON
"""
import asyncio, json, sys, time

RATE = 20
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
PAD = b"x" * 60


async def source(port):
    streams = []

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        streams.append(writer)
        await reader.read()
        streams.remove(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    async with server:
        turn, due = 0, time.monotonic()
        while True:
            if not streams:
                due = time.monotonic()
            while streams and due <= time.monotonic():
                event = b"data: %020d %b\n\n" % (time.monotonic_ns(), PAD)
                streams[turn % len(streams)].write(b"%x\r\n%b\r\n" % (len(event), event))
                turn += 1
                due += 1 / (RATE * len(streams))
            await asyncio.sleep(0.0005)


async def read(port, streams, seconds):
    delays = []
    begin = time.monotonic() + 0.5

    async def one():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        rest = b""
        while time.monotonic() < begin + seconds:
            more = await reader.read(65_536)
            now = time.monotonic_ns()
            if not more:
                raise SystemExit("bench: a stream ended")
            lines = (rest + more).split(b"\n")
            rest = lines.pop()
            # The first half second is for connecting.
            if time.monotonic() >= begin:
                delays.extend(now - int(line[6:26]) for line in lines if line.startswith(b"data: "))
        writer.close()

    await asyncio.gather(*(one() for _ in range(streams)))
    delays.sort()
    print(json.dumps({"p50": delays[len(delays) // 2] / 1000, "p99": delays[len(delays) * 99 // 100] / 1000, "events": len(delays)}))


if sys.argv[1] == "source":
    asyncio.run(source(int(sys.argv[2])))
else:
    asyncio.run(read(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
