// One request to the admin side: judged and collected on the connection's worker, answered on the admin queue, sent on the worker.
// Domain: worker

import CryoHTTP
import CryoPipeline
import Dispatch

final class AdminExchange: RequestConsumer {
    /// A body of the admin side is a few tokens; more is refused.
    static let bodyBytesMax = 262_144

    private let arrival: RequestArrival
    private let acceptor: AdminAcceptor
    private let door: AdminDoor
    private let context: ConnectionContext
    private let id: [UInt8]
    private var route: AdminRoute?
    private var parameters: [String: String] = [:]
    private var body: [UInt8] = []
    /// A reply has been sent or has begun, or nobody is there to take one.
    private var isOver = false
    /// What goes on after the head.
    private var stream: AdminStreamReply?

    init(_ arrival: RequestArrival, acceptor: AdminAcceptor, door: AdminDoor, context: ConnectionContext) {
        self.arrival = arrival
        self.acceptor = acceptor
        self.door = door
        self.context = context
        id = ExchangeID.make(
            unixMicroseconds: context.startUnixMicroseconds, randomHigh: context.scheduler.random(), randomLow: context.scheduler.random())
    }

    private var head: RequestHead? { if case .request(let head) = arrival { head } else { nil } }

    // MARK: From the connection

    func begin() {
        guard let head else {
            guard case .refused(let reason, let status, let detail) = arrival else { return }
            return fail(reason, status: status, underlying: detail)
        }
        let method = text(head, head.method)
        guard let path = path(of: head) else { return fail(.requestMalformed, status: 400, underlying: "the target has no path") }
        let match = acceptor.table.find(method: method, path: path)
        var access = AdminRoute.Access.key
        if case .found(let route, _) = match { access = route.access }
        // The door first: what there is behind it is nothing for those who may not come in.
        if case .refused(let reason, let detail) = door.judgeSite(head, isProbe: access == .probe) {
            return fail(reason, underlying: detail)
        }
        if access == .key, path.hasPrefix("/api/"), case .refused(let reason, let detail) = door.judgeKey(head) {
            return fail(reason, underlying: detail)
        }
        switch match {
        case .nothing: fail(.routeNotFound)
        case .otherMethods(let methods):
            var reply = AdminReply.failure(.requestMalformed, status: 405, "the path has no such method")
            reply.fields.append((name: "Allow", value: methods.joined(separator: ", ")))
            send(reply)
        case .found(let route, let parameters):
            self.route = route
            self.parameters = parameters
            if head.framing != .none { context.sink.sendContinue() }
        }
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Flow {
        guard !isOver else { return .more }
        guard body.count + bytes.count <= Self.bodyBytesMax else {
            fail(.requestTooLarge, underlying: "more than the admin side takes")
            return .more
        }
        body.append(contentsOf: bytes)
        return .more
    }

    func receiveBodyEnd() {
        guard !isOver, let route, let head else { return }
        let request = AdminRequest(
            method: route.method, parameters: parameters, query: query(of: head), body: body,
            ifNoneMatch: head.fields.value(of: "if-none-match"), acceptLanguage: head.fields.value(of: "accept-language"),
            lastEventID: head.fields.value(of: "last-event-id"), id: id)
        // SAFETY: the box is opened on this worker only, by the work that `submit` brings back to it.
        nonisolated(unsafe) let exchange = self
        let submit = context.scheduler.submit
        acceptor.queue.async { @Sendable in
            route.handler(request) { reply in submit { exchange.send(reply) } }
        }
    }

    func bodyRefused(_ reason: FailureReason, status: UInt16, detail: StaticString) { fail(reason, status: status, underlying: detail) }
    func replyDrained() { stream?.drained() }
    func deadlineReached(_ nanoseconds: UInt64) { stream?.deadlineReached(nanoseconds) }

    func clientGone() {
        isOver = true
        stream?.close()
    }

    // MARK: The reply

    private func fail(_ reason: FailureReason, status: UInt16? = nil, underlying: StaticString? = nil) {
        var reply = AdminReply.failure(reason, status: status)
        reply.failure?.underlying = underlying
        send(reply)
    }

    private func send(_ reply: AdminReply) {
        guard !isOver else { return letGo(of: reply.stream) }
        isOver = true
        var fields = FieldSection()
        var status = reply.status
        var body = reply.body
        if let failure = reply.failure {
            let rendered = FailureReply(
                failure.reason, status: failure.status, detail: failure.detail, underlying: failure.underlying, id: id,
                acceptLanguage: head?.fields.value(of: "accept-language"))
            (status, fields, body) = (rendered.status, rendered.fields, rendered.body)
            AdminProblems.append(failure.problems, to: &body)
        } else {
            fields.append("Content-Type", Array(reply.contentType.utf8))
        }
        acceptor.scrub(&body)
        for field in reply.fields { fields.append(name: Array(field.name.utf8), value: Array(field.value.utf8)) }
        fields.append("X-Request-Id", id)
        fields.append("X-Content-Type-Options", "nosniff")
        if reply.hasETag {
            let tag = EntityTag.of(body)
            fields.append("ETag", tag)
            fields.append("Cache-Control", "private, no-cache")
            let known = head?.fields.value(of: "if-none-match")
            if let known, EntityTag.lists(known, tag) { (status, body) = (304, []) }
        } else {
            fields.append("Cache-Control", "no-store")
        }
        if let source = reply.stream { return begin(source, status, fields) }
        context.sink.sendHead(status: status, fields: fields, framing: status == 304 ? .none : .length(UInt64(body.count)))
        if !body.isEmpty { _ = body.withUnsafeBytes { context.sink.sendBody($0) } }
        context.sink.finish()
    }

    private func begin(_ source: any AdminStream, _ status: UInt16, _ fields: FieldSection) {
        context.sink.sendHead(status: status, fields: fields, framing: .untilClose)
        if head?.isMethod("HEAD") ?? false {
            letGo(of: source)
            return context.sink.finish()
        }
        let stream = AdminStreamReply(source, queue: acceptor.queue, context: context, scrub: acceptor.scrub)
        self.stream = stream
        stream.begin()
    }

    /// A stream that nobody reads.
    private func letGo(of source: (any AdminStream)?) {
        guard let source else { return }
        acceptor.queue.async { @Sendable in source.end() }
    }

    // MARK: The target

    private func text(_ head: RequestHead, _ range: Range<Int>) -> String { String(decoding: head.fields.bytes[range], as: UTF8.self) }

    private func path(of head: RequestHead) -> String? {
        switch head.targetForm {
        case .origin(let path, _): text(head, path)
        case .absolute(_, _, let path, _): path.isEmpty ? "/" : text(head, path)
        case .asterisk, .authority, nil: nil
        }
    }

    private func query(of head: RequestHead) -> String {
        switch head.targetForm {
        case .origin(_, let query?), .absolute(_, _, _, let query?): text(head, query)
        default: ""
        }
    }
}

/// Strong validators (RFC 9110 §8.8.3): a hash of the body as it is sent.
enum EntityTag {
    static func of(_ body: [UInt8]) -> [UInt8] {
        // FNV-1a: tells states of one list apart; nobody gains by a collision.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return Array("\"\(String(repeating: "0", count: 16 - digits.count))\(digits)\"".utf8)
    }

    /// If-None-Match compares weakly (RFC 9110 §13.1.2).
    static func lists(_ value: [UInt8], _ tag: [UInt8]) -> Bool {
        var isListed = value == [0x2A]
        value.withUnsafeBytes { value in
            forEachListElement(value) { element in
                let isWeak = element.starts(with: [0x57, 0x2F])
                if element.dropFirst(isWeak ? 2 : 0).elementsEqual(tag) { isListed = true }
            }
        }
        return isListed
    }
}
