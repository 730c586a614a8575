// /api/sessions: who is logged in, and the calls that begin and end a login.
// Domain: cold

import CryoJSON
import CryoPipeline

extension AdminAPI {
    var sessionRoutes: [AdminRoute] {
        let one = AdminRoute.Answer(200, "the session", "Session")
        return [
            AdminRoute(
                "GET", "/api/sessions", "every session with its state, revision and tokens",
                answers: [.init(200, "the sessions", "SessionList"), Self.unauthorized]
            ) { [control] _, reply in
                var writer = JSONWriter()
                writer.beginObject()
                writer.key("sessions")
                writer.beginArray()
                for session in control.snapshot().sessions { Self.append(session, to: &writer) }
                writer.endArray()
                writer.endObject()
                reply(Self.list(writer))
            },
            AdminRoute(
                "POST", "/api/sessions/{name}/login", "begin a login: the tokens of the session, all under one new revision",
                body: "SessionLogin", answers: [one, Self.malformed, Self.unauthorized, Self.notFound]
            ) { [self] request, reply in
                withSession(request, reply) { session in logIn(session, request, reply) }
            },
            AdminRoute(
                "POST", "/api/sessions/{name}/logout", "end the login, if it still is the one of the given revision", body: "Logout",
                answers: [one, Self.malformed, Self.unauthorized, Self.notFound, Self.refused]
            ) { [self] request, reply in
                withSession(request, reply) { session in logOut(session, request, reply) }
            },
        ]
    }

    private func withSession(_ request: AdminRequest, _ reply: (AdminReply) -> Void, _ body: (SessionKeeper) -> Void) {
        let name = request.parameter("name")
        guard let session = control.snapshot().sessions.first(where: { $0.name == name }) else {
            return reply(.failure(.routeNotFound, "there is no session of that name"))
        }
        body(session)
    }

    /// `{"tokens": {"app": {"token": …}}}`, or the token's members alone where the session holds one token.
    private func logIn(_ session: SessionKeeper, _ request: AdminRequest, _ reply: @escaping @Sendable (AdminReply) -> Void) {
        let body = AdminBody(request.body)
        let names = session.members.map(\.name)
        var tokens: [String: NewCredential] = [:]
        do throws(BodyProblem) {
            if try body.holds(["tokens"]) {
                for name in names where try body.holds(["tokens", name]) {
                    tokens[name] = try body.credential(at: ["tokens", name], now: Self.unixSeconds)
                }
                if tokens.isEmpty { throw BodyProblem(text: "tokens names no token of this session") }
            } else if names.count == 1 {
                tokens[names[0]] = try body.credential(at: [], now: Self.unixSeconds)
            } else {
                throw BodyProblem(text: "tokens is missing: the session holds \(names.count) tokens")
            }
        } catch {
            return reply(.failure(.requestMalformed, error.text))
        }
        session.logIn(tokens) { _ in reply(Self.reply(session)) }
    }

    private func logOut(_ session: SessionKeeper, _ request: AdminRequest, _ reply: @escaping @Sendable (AdminReply) -> Void) {
        var expected: SessionRevision?
        do throws(BodyProblem) {
            if let text = try AdminBody(request.body).text(["revision"]) {
                // The text is compared with that of the present one: nothing else is ever expected.
                let current = session.session.revision
                guard current.text == text else { return reply(.failure(.adminRefused, "another login has begun")) }
                expected = current
            }
        } catch {
            return reply(.failure(.requestMalformed, error.text))
        }
        let answer = session.logOut(expected: expected) { reply(Self.reply(session)) }
        if answer == .notCurrent { reply(.failure(.adminRefused, "there is no login to end")) }
    }

    // MARK: As JSON

    private static func reply(_ session: SessionKeeper) -> AdminReply {
        var writer = JSONWriter()
        append(session, to: &writer)
        return AdminReply(body: writer.bytes + [0x0A])
    }

    private static func append(_ session: SessionKeeper, to writer: inout JSONWriter) {
        writer.beginObject()
        appendMembers(of: session, to: &writer)
        writer.key("tokens")
        writer.beginArray()
        for member in session.members { writer.string(member.name) }
        writer.endArray()
        let counts = session.counts
        writer.key("events")
        writer.beginObject()
        for name in SessionEvent.names {
            writer.key(name)
            writer.integer(counts[name] ?? 0)
        }
        writer.endObject()
        writer.endObject()
    }

    static func appendState(of session: SessionKeeper, to writer: inout JSONWriter) {
        writer.beginObject()
        appendMembers(of: session, to: &writer)
        writer.endObject()
    }

    private static func appendMembers(of keeper: SessionKeeper, to writer: inout JSONWriter) {
        let session = keeper.session
        writer.field("name", keeper.name)
        writer.field("state", session.state.rawValue)
        session.revision.text.withUnsafeBytes { writer.field("revision", bytes: $0) }
    }
}
