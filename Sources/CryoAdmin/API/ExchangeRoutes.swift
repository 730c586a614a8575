// /api/exchanges: the recent exchanges as their audit records, listed, one by one, and as they end.
// Domain: cold

import CryoIO
import CryoJSON
import CryoPipeline
import CryoRecord

extension AdminAPI {
    /// Records in one list, records looked at in one go, and bytes after which a list ends early.
    static let listedMax = 1_000
    private static let lookedAtMax = 256
    static let listBytesMax = 8 << 20

    private static let limit = AdminRoute.Parameter(
        "limit", "how many at most", schema: #"{"type":"integer","minimum":1,"maximum":1000,"default":100}"#)
    private static let before = AdminRoute.Parameter("before", "only those that ended before the exchange of this id")

    private static let events = AdminRoute.Parameter(
        "events", "all: also what happens inside running exchanges", schema: #"{"enum":["exchanges","all"],"default":"exchanges"}"#)
    static let filter = AdminRoute.Parameter("filter", "only those that match, in the language of cryonet audit list")

    /// The filter of a query. Holds memory between lines: only the admin queue may call it.
    static func matcher(_ query: AdminQuery) throws(BodyProblem) -> @Sendable ([UInt8]) -> Bool {
        guard let text = query.text("filter") else { return { _ in true } }
        do throws(FilterError) {
            // SAFETY: called on the admin queue only, where all handlers and streams run.
            nonisolated(unsafe) let matcher = RecordMatcher(try RecordFilter(text, nowUnixMicroseconds: Clock.unixMicroseconds()))
            return { matcher.matches($0) }
        } catch {
            throw BodyProblem(text: "filter, \(error)")
        }
    }

    var exchangeRoutes: [AdminRoute] {
        [
            AdminRoute(
                "GET", "/api/exchanges", "the recent exchanges, the newest first: their audit records, without secrets",
                query: [Self.limit, Self.before, Self.filter],
                answers: [.init(200, "the exchanges", "ExchangeList"), Self.malformed, Self.unauthorized, Self.notFound]
            ) { [self] request, reply in reply(list(request)) },
            AdminRoute(
                "GET", "/api/exchanges/stream",
                "exchanges as they end, as server-sent events: exchange, dropped when the reader is too slow, and monitor on request",
                query: [Self.filter, Self.events],
                answers: [
                    .init(200, "the events", contentType: "text/event-stream"), Self.malformed, Self.unauthorized,
                    .init(503, "too many read already", "Failure"),
                ]
            ) { [self] request, reply in reply(stream(request)) },
            AdminRoute(
                "GET", "/api/exchanges/{id}", "the audit record of one exchange",
                answers: [.init(200, "the exchange", "Exchange"), Self.unauthorized, Self.notFound]
            ) { [self] request, reply in
                guard let line = record(request)?.line else { return reply(Self.noSuchExchange) }
                var answer = AdminReply(body: line + [0x0A])
                answer.hasETag = true
                reply(answer)
            },
        ]
    }

    static let noSuchExchange = AdminReply.failure(.routeNotFound, "there is no exchange of that id, or it is no longer kept")

    func record(_ request: AdminRequest) -> (line: [UInt8], sequence: UInt64)? {
        control.feed?.exchanges.find(id: Array(request.parameter("id").utf8))
    }

    // MARK: The list

    private func list(_ request: AdminRequest) -> AdminReply {
        guard let ring = control.feed?.exchanges else { return Self.noSuchExchange }
        do throws(BodyProblem) {
            let query = try AdminQuery(request.query, of: [Self.limit, Self.before, Self.filter])
            let isWanted = try Self.matcher(query)
            let limit = try query.integer("limit", in: 1...Self.listedMax, default: 100)
            var end = ring.kept.upperBound
            if let before = query.text("before") {
                guard let found = ring.find(id: Array(before.utf8)) else { return Self.noSuchExchange }
                end = found.sequence
            }
            return Self.list(newest(limit, before: end, in: ring, isWanted))
        } catch {
            return .failure(.requestMalformed, error.text)
        }
    }

    /// Walks backwards through the ring in bounded steps.
    private func newest(
        _ limit: Int, before end: UInt64, in ring: RecordRing, _ isWanted: ([UInt8]) -> Bool
    ) -> JSONWriter {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("exchanges")
        writer.beginArray()
        var end = end
        var count = 0
        while count < limit, writer.bytes.count < Self.listBytesMax {
            let first = ring.kept.lowerBound
            guard end > first else { break }
            let start = max(first, end >= UInt64(Self.lookedAtMax) ? end - UInt64(Self.lookedAtMax) : 0)
            let page = ring.read(from: start, countMax: Int(end - start), bytesMax: .max)
            for line in page.lines.reversed() where count < limit && isWanted(line) {
                line.withUnsafeBytes { writer.raw($0) }
                count += 1
            }
            if page.lines.isEmpty { break }
            end = start
        }
        writer.endArray()
        writer.endObject()
        return writer
    }

    // MARK: The stream

    private func stream(_ request: AdminRequest) -> AdminReply {
        guard let feed = control.feed else { return Self.noSuchExchange }
        do throws(BodyProblem) {
            let query = try AdminQuery(request.query, of: [Self.filter, Self.events])
            let isWanted = try Self.matcher(query)
            let events = try query.word("events", of: ["exchanges", "all"])
            guard readers.enter() else { return .failure(.overCapacity, "there are \(Places.readersMax) readers already") }
            let stream = ExchangeStream(
                feed, run: run, lastEventID: request.lastEventID.map { String(decoding: $0, as: UTF8.self) },
                includesEvents: events == "all", isWanted: isWanted, ended: { [readers] in readers.leave() })
            var reply = AdminReply.stream(stream, contentType: ServerSentEvent.contentType)
            // For a proxy in front that would rather wait for more.
            reply.fields = [("X-Accel-Buffering", "no")]
            return reply
        } catch {
            return .failure(.requestMalformed, error.text)
        }
    }
}
