// The drills against a route that a configuration marks for them: with the real API and the real token endpoint.
// Domain: cold

package import CryoConfig
import CryoIO
import CryoPipeline
import CryoTokens

/// `revoke`, `expire`, `storm` and `rotate-race` renew the login, as its gateway would; `idp-down` and `idp-slow` ask another address in
/// the place of the endpoint, and touch no login.
package struct RouteDrill {
    private let configuration: GatewayConfiguration
    private let route: RouteSettings
    private let token: TokenSettings

    private static let clients = 20
    private static let stormClients = 100
    private static let rotations = 10

    /// `name`: nil for the only route that is marked.
    package init(_ configuration: GatewayConfiguration, route name: String?) throws(GatewayError) {
        let marked = configuration.routes.filter { $0.drillPath != nil && (name == nil || $0.name == name) }
        guard marked.count == 1, let route = marked.first else {
            let found = marked.isEmpty ? "no route\(name.map { " \($0)" } ?? "") is" : "several routes are"
            throw GatewayError("\(found) marked for drills: routes[].drill names a path that a GET may ask for; --route chooses")
        }
        guard let token = configuration.tokens.first(where: { $0.name == route.token }) else {
            throw GatewayError("route \(route.name) has no token to drill with")
        }
        self.configuration = configuration
        self.route = route
        self.token = token
        if let reason = Self.refusal(token) { throw GatewayError("tokens.\(token.name): \(reason)") }
    }

    /// Why a drill could do harm, or prove nothing; nil when it may begin.
    private static func refusal(_ token: TokenSettings) -> String? {
        switch token.source {
        case .fixed, .environment, .file: return "there is no refresh to drill: its source holds the token"
        case .login(let login):
            let texts = login.refresh?.call.texts ?? []
            let presentsToken = texts.contains { TemplateText($0).usesToken }
            if presentsToken { return "its refresh presents the token itself, which a drill replaces" }
        case .exec, .oauth2: break
        }
        if token.initialRefreshToken != nil, token.storeFile == nil, token.storeRedis == nil {
            return "a drill would use up initial.refresh_token: keep the login in a store"
        }
        return nil
    }

    package func run(_ drill: Drill) throws(GatewayError) -> DrillReport {
        let begin = Clock.monotonicNanoseconds()
        var report = DrillReport(drill)
        switch drill {
        case .expire: try expire(&report)
        case .revoke: try revoke(&report)
        case .storm: try storm(&report)
        case .rotateRace: try rotateRace(&report)
        case .idpDown: try idpDown(&report)
        case .idpSlow: try idpSlow(&report)
        }
        report.milliseconds = (Clock.monotonicNanoseconds() - begin) / 1_000_000
        return report
    }

    /// A stage whose login works, or a reason not to go on.
    private func warmStage(gateways: Int = 1) throws(GatewayError) -> RouteStage {
        let stage = try RouteStage(configuration, route, gateways: gateways)
        let answers = stage.together(gateways)
        guard answers.areSuccesses else {
            stage.stop()
            throw GatewayError("GET \(route.drillPath ?? "") was answered \(answers.statuses) before any fault: nothing to drill with")
        }
        return stage
    }

    // MARK: The login is renewed

    private func expire(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try warmStage()
        defer { stage.stop() }
        let (renewals, attempts) = (stage.renewals, stage.attempts)
        stage.revoke(expiresAt: 1)
        let answers = stage.together(Self.clients)
        report.check("every request after the end of the token is answered", answers.areSuccesses, seen: answers.statuses)
        report.check("one token comes from the source", stage.renewals - renewals == 1, seen: "\(stage.renewals - renewals)")
        let sent = Int(stage.attempts - attempts)
        report.check("no expired token reaches the API", sent == Self.clients, seen: "\(sent) attempts for \(Self.clients) requests")
    }

    private func revoke(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try warmStage()
        defer { stage.stop() }
        check(&report, stage, clients: Self.clients)
    }

    private func storm(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try warmStage()
        defer { stage.stop() }
        check(&report, stage, clients: Self.stormClients)
    }

    private func check(_ report: inout DrillReport, _ stage: RouteStage, clients: Int) {
        let (renewals, questions, attempts) = (stage.renewals, stage.questions, stage.attempts)
        stage.revoke()
        let answers = stage.together(clients)
        let sent = Int(stage.attempts - attempts)
        report.check("every request is answered", answers.areSuccesses, seen: answers.statuses)
        report.check("one token comes from the source", stage.renewals - renewals == 1, seen: "\(stage.renewals - renewals)")
        report.check("it is asked once", stage.questions - questions == 1, seen: "\(stage.questions - questions)")
        report.check("no request is sent more than twice", sent <= 2 * clients, seen: "\(sent) attempts for \(clients) requests")
    }

    private func rotateRace(_ report: inout DrillReport) throws(GatewayError) {
        let isShared = token.storeFile != nil || token.storeRedis != nil
        let stage = try warmStage(gateways: isShared ? 2 : 1)
        defer { stage.stop() }
        let renewals = stage.renewals
        var answers: [DrillAnswer] = []
        for _ in 0..<Self.rotations {
            stage.revoke()
            answers += stage.together(8)
        }
        let seen = Int(stage.renewals - renewals)
        report.check("every request is answered", answers.areSuccesses, seen: answers.statuses)
        let sentence = isShared ? "one token for each rotation, for two gateways" : "one token for each rotation"
        report.check(sentence, seen == Self.rotations, seen: "\(seen) for \(Self.rotations)")
    }

    // MARK: The endpoint is another

    /// The login of a warm stage, on a stage whose endpoint is `url`.
    private func stage(endpoint url: String, timeoutMilliseconds: UInt32) throws(GatewayError) -> RouteStage {
        var login = token
        switch login.source {
        case .oauth2(var oauth2):
            oauth2.tokenEndpoint = url
            login.source = .oauth2(oauth2)
        case .login(var calls):
            calls.signIn?.call.url = url
            calls.refresh?.call.url = url
            login.source = .login(calls)
        case .exec, .fixed, .environment, .file: throw GatewayError("tokens.\(token.name): its source asks no endpoint")
        }
        let warm = try warmStage()
        let credential = warm.credential
        warm.stop()
        let source = login.source
        let stage = try RouteStage(configuration, route) { settings in
            settings.source = source
            settings.storeFile = nil
            settings.storeRedis = nil
            settings.initialToken = nil
            settings.initialRefreshToken = nil
            settings.refresh.timeoutMilliseconds = timeoutMilliseconds
        }
        if let credential { stage.install(credential) }
        return stage
    }

    private func idpDown(_ report: inout DrillReport) throws(GatewayError) {
        // Nobody listens on port 1.
        let stage = try stage(endpoint: "http://127.0.0.1:1/", timeoutMilliseconds: token.refresh.timeoutMilliseconds)
        defer { stage.stop() }
        let valid = stage.together(Self.clients)
        report.check("a valid token is used", valid.areSuccesses, seen: valid.statuses)
        let questions = stage.questions
        stage.revoke()
        let dead = stage.together(Self.clients)
        let asked = stage.questions - questions
        report.check("with a dead one the API's 401 comes back", dead.areAll(401), seen: dead.statuses)
        report.check("the endpoint is not stormed", (1...3).contains(asked), seen: "\(asked) calls")
    }

    private func idpSlow(_ report: inout DrillReport) throws(GatewayError) {
        // Connections are made by the kernel, and nobody answers.
        let listener: Int32
        let address: String?
        do throws(SystemError) {
            listener = try ListeningSocket.openTCP(host: "127.0.0.1", port: 0)
            address = Socket.localName(listener)
        } catch {
            throw GatewayError("can't listen: \(error)")
        }
        defer { Socket.close(listener) }
        let stage = try stage(endpoint: "http://\(address ?? "127.0.0.1:1")/", timeoutMilliseconds: 1000)
        defer { stage.stop() }
        let valid = stage.together(Self.clients)
        report.check("a valid token is used", valid.areSuccesses, seen: valid.statuses)
        stage.revoke()
        let begin = Clock.monotonicNanoseconds()
        let late = stage.together(Self.clients)
        let milliseconds = (Clock.monotonicNanoseconds() - begin) / 1_000_000
        report.check("with a dead one the API's 401 comes back", late.areAll(401), seen: late.statuses)
        report.check("nobody waits much longer than refresh.timeout_ms", milliseconds < 15_000, seen: "\(milliseconds) ms of 1000")
    }
}
