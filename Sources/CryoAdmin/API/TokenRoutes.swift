// /api/tokens: what each token is and when it ends, and the calls that refresh, set and clear it. Never its value.
// Domain: cold

import CryoJSON
import CryoPipeline

extension AdminAPI {
    var tokenRoutes: [AdminRoute] {
        let one = AdminRoute.Answer(200, "the token", "Token")
        return [
            AdminRoute(
                "GET", "/api/tokens", "every token with its state",
                answers: [.init(200, "the tokens", "TokenList"), Self.unauthorized]
            ) { [control] _, reply in
                var writer = JSONWriter()
                writer.beginObject()
                writer.key("tokens")
                writer.beginArray()
                for token in control.snapshot().tokens { Self.append(token, to: &writer) }
                writer.endArray()
                writer.endObject()
                reply(Self.list(writer))
            },
            AdminRoute("GET", "/api/tokens/{name}", "one token with its state", answers: [one, Self.unauthorized, Self.notFound]) {
                [self] request, reply in
                withToken(request, reply) { token in reply(Self.reply(token, hasETag: true)) }
            },
            AdminRoute(
                "PUT", "/api/tokens/{name}", "set the token: a new login with another revision", body: "Login",
                answers: [one, Self.malformed, Self.unauthorized, Self.notFound]
            ) { [self] request, reply in
                withToken(request, reply) { token in set(token, request, reply) }
            },
            AdminRoute(
                "POST", "/api/tokens/{name}/refresh", "refresh the token now and wait for the end",
                answers: [
                    one, Self.unauthorized, Self.notFound, .init(409, "it can't be refreshed, or its refresh was refused", "Failure"),
                    .init(502, "the token source failed; the present token stays", "Failure"),
                ]
            ) { [self] request, reply in
                withToken(request, reply) { token in refresh(token, reply) }
            },
            AdminRoute(
                "POST", "/api/tokens/{name}/clear", "forget the token and end its session",
                answers: [one, Self.unauthorized, Self.notFound, Self.refused]
            ) { [self] request, reply in
                withToken(request, reply) { token in
                    let answer = token.session.logOut(expected: nil) { reply(Self.reply(token)) }
                    if answer == .notCurrent { reply(.failure(.adminRefused, "there is no login to end")) }
                }
            },
        ]
    }

    private func withToken(_ request: AdminRequest, _ reply: (AdminReply) -> Void, _ body: (AdminToken) -> Void) {
        let name = request.parameter("name")
        guard let token = control.snapshot().tokens.first(where: { $0.name == name }) else {
            return reply(.failure(.routeNotFound, "there is no token of that name"))
        }
        body(token)
    }

    private func set(_ token: AdminToken, _ request: AdminRequest, _ reply: @escaping @Sendable (AdminReply) -> Void) {
        do throws(BodyProblem) {
            let new = try AdminBody(request.body).credential(at: [], now: Self.unixSeconds)
            token.session.logIn([token.name: new]) { _ in reply(Self.reply(token)) }
        } catch {
            reply(.failure(.requestMalformed, error.text))
        }
    }

    private func refresh(_ token: AdminToken, _ reply: @escaping @Sendable (AdminReply) -> Void) {
        guard token.store.canRefresh else { return reply(.failure(.adminRefused, "the token's source has no other token")) }
        // Somebody asks for it: what came of earlier tries is no reason not to try.
        token.store.forgetFailures()
        let answer: @Sendable (TokenAnswer) -> Void = { answer in
            switch answer {
            case .ready: reply(Self.reply(token))
            case .rejected: reply(.failure(.refreshRejected, status: 409, "the refresh was refused, or the source has nothing newer"))
            default: reply(.failure(.refreshFailed, status: 502, "the token source failed; the present token stays"))
            }
        }
        switch token.store.demand(.early(version: token.store.snapshot()?.version ?? 0), resume: answer) {
        case .waiting: break
        case .answered(.alreadyNewer): answer(.ready)
        case .answered(.rejected): answer(.rejected)
        case .answered: answer(.failed)
        }
    }

    // MARK: As JSON

    static func list(_ writer: borrowing JSONWriter) -> AdminReply {
        var reply = AdminReply(body: writer.bytes + [0x0A])
        reply.hasETag = true
        return reply
    }

    private static func reply(_ token: AdminToken, hasETag: Bool = false) -> AdminReply {
        var writer = JSONWriter()
        append(token, to: &writer)
        var reply = AdminReply(body: writer.bytes + [0x0A])
        reply.hasETag = hasETag
        return reply
    }

    static func append(_ token: AdminToken, to writer: inout JSONWriter) {
        let credential = token.store.snapshot()
        writer.beginObject()
        writer.field("name", token.name)
        writer.field("source", token.source)
        let isExpired = credential?.expiresAt.map { $0 <= unixSeconds } ?? false
        writer.field("state", credential == nil ? "missing" : isExpired ? "expired" : "valid")
        writer.key("version")
        if let credential { writer.integer(credential.version) } else { writer.null() }
        append("fingerprint", credential.map { fingerprint(of: $0.token) }, to: &writer)
        append("expiresAt", credential?.expiresAt.map { AdminTime.text(unixSeconds: $0) }, to: &writer)
        append("refreshAt", token.store.canRefresh ? credential?.refreshAt.map { AdminTime.text(unixSeconds: $0) } : nil, to: &writer)
        append("changedAt", token.statistics.changedAt.map { AdminTime.text(unixSeconds: $0) }, to: &writer)
        writer.field("canRefresh", token.store.canRefresh)
        writer.field("hasRefreshToken", credential?.refreshToken != nil)
        writer.key("refreshes")
        writer.beginObject()
        for end in TokenStatistics.RefreshEnd.allCases {
            writer.key(end.rawValue)
            writer.integer(token.statistics.count(of: end))
        }
        writer.endObject()
        writer.key("asked")
        append(token.sourceOutcomes(), to: &writer)
        let keeping = token.keeping()
        writer.key("store")
        writer.beginObject()
        writer.field("kind", keeping.kind)
        append("place", keeping.place, to: &writer)
        append("trouble", keeping.trouble, to: &writer)
        writer.key("events")
        append(keeping.events, to: &writer)
        writer.endObject()
        writer.key("routes")
        writer.beginArray()
        for route in token.routes { writer.string(route) }
        writer.endArray()
        writer.key("session")
        appendState(of: token.session, to: &writer)
        writer.endObject()
    }

    private static func append(_ counts: [(name: String, count: UInt64)], to writer: inout JSONWriter) {
        writer.beginObject()
        for (name, count) in counts {
            writer.key(name)
            writer.integer(count)
        }
        writer.endObject()
    }

    static func append(_ name: StaticString, _ value: String?, to writer: inout JSONWriter) {
        if let value { writer.field(name, value) } else { writer.nullField(name) }
    }

    /// Eight digits that tell two values apart. Keyed by this process: nobody can try candidates against them.
    private static func fingerprint(of secret: Secret) -> String {
        let digits = String(UInt32(truncatingIfNeeded: secret.fingerprint), radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
