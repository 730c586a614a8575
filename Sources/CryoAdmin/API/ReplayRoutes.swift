// What can be done with a recorded exchange: as a curl command, once more through the gateway, and many of them as one HTTP archive.
// Domain: cold

import CryoHTTP
import CryoJSON
import CryoPipeline
import CryoRecord

extension AdminAPI {
    var replayRoutes: [AdminRoute] {
        [
            AdminRoute(
                "GET", "/api/exchanges/{id}/curl", "the request as a curl command that asks the gateway",
                answers: [.init(200, "the command", contentType: "text/plain"), Self.unauthorized, Self.notFound, Self.refused]
            ) { [self] request, reply in reply(curl(request)) },
            AdminRoute(
                "POST", "/api/exchanges/{id}/replay",
                "send the request once more through routes, tokens and policies; what the body gives replaces what was recorded",
                body: "Replay",
                answers: [.init(200, "the answer", "ReplayAnswer"), Self.malformed, Self.unauthorized, Self.notFound, Self.refused]
            ) { [self] request, reply in replay(request, reply) },
            AdminRoute(
                "GET", "/api/har", "the recent exchanges as an HTTP archive, the oldest first",
                query: [Self.filter], answers: [.init(200, "HAR 1.2", "Archive"), Self.malformed, Self.unauthorized]
            ) { [self] request, reply in reply(archive(request)) },
        ]
    }

    private static let noRequest = AdminReply.failure(.adminRefused, "what was recorded is no request that can be sent again")

    private func curl(_ request: AdminRequest) -> AdminReply {
        guard let line = record(request)?.line, let view = RecordView(line) else { return Self.noSuchExchange }
        guard let recorded = RecordedRequest(view) else { return Self.noRequest }
        let address = control.clientAddress
        var destination = RequestDestination(base: address.base, unixSocket: address.unixSocket)
        destination.host = recorded.host
        let command = CurlCommand(recorded, to: destination)
        let notes = command.notes.map { "# \($0)\n" }.joined()
        return AdminReply(contentType: "text/plain; charset=utf-8", body: Array(notes.utf8) + command.text + [0x0A])
    }

    // MARK: Replay

    private func replay(_ request: AdminRequest, _ reply: @escaping @Sendable (AdminReply) -> Void) {
        guard let line = record(request)?.line, let view = RecordView(line) else { return reply(Self.noSuchExchange) }
        guard let recorded = RecordedRequest(view) else { return reply(Self.noRequest) }
        let again: ReplayRequest
        do throws(BodyProblem) {
            let edits = try ReplayEdits(AdminBody(request.body))
            if let obstacle = edits.obstacle(of: recorded) { return reply(.failure(.adminRefused, obstacle)) }
            again = edits.applied(to: recorded)
        } catch {
            return reply(.failure(.requestMalformed, error.text))
        }
        guard replays.enter() else {
            return reply(.failure(.overCapacity, "\(Places.replaysMax) replays are on their way already"))
        }
        control.replay(again) { [replays] result in
            replays.leave()
            switch result {
            case .success(let answer): reply(Self.reply(answer))
            case .failure(let refusal): reply(.failure(.requestMalformed, refusal.text))
            }
        }
    }

    private static func reply(_ answer: ReplayAnswer) -> AdminReply {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("id", answer.id)
        writer.field("status", Int64(answer.status))
        writer.field("duration_us", Int64(clamping: answer.durationMicroseconds))
        writer.key("headers")
        writer.beginArray()
        for field in answer.fields {
            writer.beginArray()
            writer.string(field.name)
            writer.string(field.value)
            writer.endArray()
        }
        writer.endArray()
        answer.body.withUnsafeBytes { writer.field("body", bytes: $0) }
        writer.field("truncated", answer.isCut)
        writer.endObject()
        return AdminReply(body: writer.bytes + [0x0A])
    }

    // MARK: Archive

    private func archive(_ request: AdminRequest) -> AdminReply {
        do throws(BodyProblem) {
            let query = try AdminQuery(request.query, of: [Self.filter])
            let isWanted = try Self.matcher(query)
            guard let ring = control.feed?.exchanges else { return Self.noSuchExchange }
            let stream = ArchiveStream(
                ring, HARExport(base: control.clientAddress.base), version: control.snapshot().version, isWanted: isWanted)
            var reply = AdminReply.stream(stream, contentType: "application/json")
            reply.fields = [("Content-Disposition", "attachment; filename=\"cryonet.har\"")]
            return reply
        } catch {
            return .failure(.requestMalformed, error.text)
        }
    }
}

/// What somebody wants to send instead of what was recorded.
struct ReplayEdits {
    private var method: String?
    private var target: String?
    private var fields: [(name: String, value: String)]?
    private var body: [UInt8]?

    init(_ edits: AdminBody) throws(BodyProblem) {
        method = try edits.text(["method"]).map { String(decoding: $0, as: UTF8.self) }
        target = try edits.text(["target"]).map { String(decoding: $0, as: UTF8.self) }
        fields = try edits.pairs(["headers"])
        body = try edits.text(["body"])
    }

    /// What stands against the replay and has not been replaced. A masked header is no obstacle: the gateway injects its own.
    func obstacle(of recorded: RecordedRequest) -> String? {
        for obstacle in recorded.obstacles {
            switch obstacle {
            case .noFields, .unsendable, .maskedField: continue
            case .bodyMissing, .bodyCut: if body == nil { return "\(obstacle.text): give a body" }
            case .masked(let place):
                if place == "the body", body == nil { return "\(obstacle.text): give a body" }
                if place == "the target", target == nil { return "\(obstacle.text): give a target" }
            }
        }
        return nil
    }

    func applied(to recorded: RecordedRequest) -> ReplayRequest {
        var kept = recorded.fields.filter { !RecordedRequest.isMasked($0.value) }.map { (name: $0.name, value: $0.value) }
        if let fields { kept = fields }
        if let host = recorded.host, !kept.contains(where: { $0.name.lowercased() == "host" }) { kept.insert(("Host", host), at: 0) }
        return ReplayRequest(
            method: method ?? recorded.method, target: target ?? recorded.target, fields: kept, body: body ?? recorded.body ?? [])
    }
}
