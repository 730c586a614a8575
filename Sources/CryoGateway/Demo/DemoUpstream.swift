// The upstream of `cryonet demo`: an API with a login, short-lived tokens, envelopes, failures, streams and uploads.
// Domain: shared (its state behind one lock); consumers on workers

import CryoHTTP
import CryoIO
package import CryoPipeline
import CryoSync

package final class DemoUpstream: RequestAcceptor {
    struct State {
        var version = 1
        /// The present token is accepted until then, in microseconds since 1970.
        var validUntil = Int64.max
        var isLoginOver = false
        var counts = DemoCounts()
        var faults = DemoFaults()
    }

    /// The pair the gateway starts with.
    package static let initialToken = "demo-access-1"
    package static let initialRefreshToken = "demo-refresh-1"

    private let state = Mutex(State())

    package init() {}

    package func consumer(for arrival: RequestArrival, in context: ConnectionContext) -> any RequestConsumer {
        DemoConsumer(arrival, upstream: self, context: context)
    }

    // MARK: Tokens

    func accepts(_ authorization: [UInt8]?) -> Bool {
        state.withLock { state in
            let isPresent = authorization == Array("Bearer demo-access-\(state.version)".utf8)
            let isAccepted = isPresent && !state.isLoginOver && Clock.unixMicroseconds() < state.validUntil
            if isAccepted { state.counts.accepted += 1 } else { state.counts.refused += 1 }
            return isAccepted
        }
    }

    /// Makes the present access token invalid; its refresh token still works.
    @discardableResult
    package func revoke() -> Int {
        state.withLock { state in
            // The refresh token of version n is accepted while version n + 1 is not issued yet.
            state.version += 1
            return state.version
        }
    }

    /// Answers a refresh with the next pair, or nil for a refresh token that was used already.
    func refresh(_ body: [UInt8]) -> String? {
        state.withLock { state in
            let text = String(decoding: body, as: UTF8.self)
            state.counts.endpointCalls += 1
            guard text.contains("\"demo-refresh-\(state.counts.grants + 1)\""), !state.isLoginOver else {
                if text.contains("\"demo-refresh-") { state.counts.reuses += 1 }
                if state.faults.endsLoginOnReuse { state.isLoginOver = true }
                return nil
            }
            state.counts.grants += 1
            state.version = max(state.version, 1) + 1
            state.validUntil = Clock.unixMicroseconds() + state.faults.lifetimeSeconds * 1_000_000
            return """
                {"code":0,"msg":"ok","data":{"token":"demo-access-\(state.version)",\
                "refreshToken":"demo-refresh-\(state.counts.grants + 1)","expiresIn":\(state.faults.lifetimeSeconds)}}
                """
        }
    }

    func countDownCall() { state.withLock { $0.counts.endpointCalls += 1 } }

    package var counts: DemoCounts { state.withLock { $0.counts } }

    /// How it behaves from now on.
    package var faults: DemoFaults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }
}

/// One request to the demo upstream.
private final class DemoConsumer: RequestConsumer {
    /// Bodies are counted whole but kept only up to this size.
    private static let bodyBytesMax = 65_536
    private static let eventsMax = 10
    private static let eventInterval: UInt64 = 500_000_000

    private let arrival: RequestArrival
    private let upstream: DemoUpstream
    private let context: ConnectionContext
    private var body: [UInt8] = []
    private var bodyBytes: UInt64 = 0
    private var eventsSent = 0
    private var nextEventAt = UInt64.max
    private var refreshAt = UInt64.max
    private var isOver = false

    init(_ arrival: RequestArrival, upstream: DemoUpstream, context: ConnectionContext) {
        self.arrival = arrival
        self.upstream = upstream
        self.context = context
    }

    func begin() {
        guard case .refused(_, let status, _) = arrival else { return }
        reply(status, "{\"code\":\(status),\"msg\":\"bad request\"}")
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        bodyBytes += UInt64(bytes.count)
        body.append(contentsOf: bytes.prefix(max(0, Self.bodyBytesMax - body.count)))
        return .more
    }

    func receiveBodyEnd() {
        guard !isOver, case .request(let head) = arrival else { return }
        let target = String(decoding: head.fields.bytes[head.target], as: UTF8.self)
        let path = String(target.prefix { $0 != "?" })
        let authorization = head.fields.value(of: "authorization")
        answer(path, query: String(target.dropFirst(path.count + 1)), authorization)
    }

    func bodyRefused(_ reason: FailureReason, status: UInt16, detail: StaticString) { reply(status, "{}") }
    func clientGone() { isOver = true }
    func replyDrained() {}

    func deadlineReached(_ nanoseconds: UInt64) {
        if !isOver, refreshAt <= nanoseconds {
            refreshAt = .max
            return answerRefresh()
        }
        guard !isOver, nextEventAt <= nanoseconds else { return }
        sendEvent()
    }

    private func answer(_ path: String, query: String, _ authorization: [UInt8]?) {
        switch path {
        case "/auth/refresh":
            let delay = upstream.faults.endpointDelayMilliseconds
            guard delay > 0 else { return answerRefresh() }
            refreshAt = context.scheduler.nanoseconds &+ delay * 1_000_000
            return context.scheduler.wake(at: refreshAt)
        case "/demo/revoke":
            return reply(200, "{\"code\":0,\"msg\":\"revoked\",\"data\":{\"version\":\(upstream.revoke())}}")
        case "/public/time":
            return reply(200, "{\"code\":0,\"msg\":\"ok\",\"data\":{\"unix\":\(context.scheduler.unixMicroseconds / 1_000_000)}}")
        default: break
        }
        guard upstream.accepts(authorization) else {
            return reply(401, #"{"code":401,"msg":"token expired"}"#)
        }
        switch path {
        case "/news/list":
            reply(
                200,
                #"{"code":0,"msg":"ok","data":{"items":[{"id":1,"title":"CryoNet"},{"id":2,"title":"One refresh for everybody"}],"refreshes":"#
                    + "\(upstream.counts.grants)}}")
        case "/orders/pay": reply(200, #"{"code":40013,"msg":"余额不足"}"#)
        case "/session/kicked": reply(200, #"{"code":10001,"msg":"login expired"}"#)
        case "/broken/html": reply(200, "<html><body>It works, but it is no JSON.</body></html>", type: "text/html")
        case "/broken/503": reply(503, #"{"code":503,"msg":"try later"}"#)
        case "/upload": reply(200, "{\"code\":0,\"msg\":\"ok\",\"data\":{\"bytes\":\(bodyBytes)}}")
        case "/events": beginEvents()
        default: reply(404, #"{"code":404,"msg":"no such page"}"#)
        }
    }

    private func answerRefresh() {
        if upstream.faults.isEndpointDown {
            upstream.countDownCall()
            return reply(503, #"{"code":503,"msg":"try later"}"#)
        }
        if let pair = upstream.refresh(body) { return reply(200, pair) }
        reply(200, #"{"code":10002,"msg":"refresh token is used or unknown"}"#)
    }

    private func reply(_ status: UInt16, _ text: String, type: StaticString = "application/json") {
        guard !isOver else { return }
        isOver = true
        var fields = FieldSection()
        fields.append("Content-Type", type)
        let bytes = Array(text.utf8)
        context.sink.sendHead(status: status, fields: fields, framing: .length(UInt64(bytes.count)))
        _ = bytes.withUnsafeBytes { context.sink.sendBody($0) }
        context.sink.finish()
    }

    // MARK: Server-sent events

    private func beginEvents() {
        var fields = FieldSection()
        fields.append("Content-Type", "text/event-stream")
        fields.append("Cache-Control", "no-cache")
        context.sink.sendHead(status: 200, fields: fields, framing: .chunked)
        sendEvent()
    }

    private func sendEvent() {
        eventsSent += 1
        let bytes = Array("id: \(eventsSent)\nevent: tick\ndata: {\"n\":\(eventsSent)}\n\n".utf8)
        _ = bytes.withUnsafeBytes { context.sink.sendBody($0) }
        if eventsSent == Self.eventsMax {
            isOver = true
            context.sink.finish()
        } else {
            nextEventAt = context.scheduler.nanoseconds &+ Self.eventInterval
            context.scheduler.wake(at: nextEventAt)
        }
    }
}
