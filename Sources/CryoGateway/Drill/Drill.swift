// The drills: faults of the login that every gateway meets one day, played against the demo upstream, and what must be true then.
// Domain: cold

import CryoIO
import CryoSync
import Glibc

package enum Drill: String, Sendable, CaseIterable {
    case expire, revoke
    case idpDown = "idp-down"
    case idpSlow = "idp-slow"
    case storm
    case rotateRace = "rotate-race"

    package var meaning: String {
        switch self {
        case .expire: "tokens run out while they are in use"
        case .revoke: "the API revokes the token before its time"
        case .idpDown: "the token endpoint is down"
        case .idpSlow: "the token endpoint takes its time"
        case .storm: "many requests find the same dead token"
        case .rotateRace: "the refresh token rotates again and again under load"
        }
    }

    /// `redis`: an address; then rotate-race plays with two gateways that share a login there.
    package func run(redis: String?) throws(GatewayError) -> DrillReport {
        let begin = Clock.monotonicNanoseconds()
        var report = DrillReport(self)
        switch self {
        case .expire: try Self.expire(&report)
        case .revoke: try Self.revoke(&report)
        case .idpDown: try Self.idpDown(&report)
        case .idpSlow: try Self.idpSlow(&report)
        case .storm: try Self.storm(&report)
        case .rotateRace: try Self.rotateRace(&report, redis: redis)
        }
        report.milliseconds = (Clock.monotonicNanoseconds() - begin) / 1_000_000
        return report
    }

    private static let clients = 20
    private static let stormClients = 200
    private static let rotations = 50

    private static func expire(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try DrillStage(DrillSetting(refresh: "before_expiry_s: 0"))
        defer { stage.stop() }
        stage.upstream.faults.lifetimeSeconds = 1
        stage.upstream.revoke()
        let first = stage.get()
        let before = stage.upstream.counts
        // The gateway counts whole seconds from before its call.
        usleep(1_100_000)
        stage.upstream.faults.lifetimeSeconds = 3600
        let answers = stage.together(clients)
        let seen = stage.upstream.counts - before
        report.check("the token is renewed and used", first.status == 200, seen: "status \(first.status)")
        report.check("every request after its end is answered", answers.areAll(200), seen: answers.statuses)
        report.check("the endpoint is asked once", seen.endpointCalls == 1, seen: "\(seen.endpointCalls)")
        report.check("no expired token reaches the API", seen.refused == 0, seen: "\(seen.refused)")
    }

    private static func revoke(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try DrillStage()
        defer { stage.stop() }
        stage.upstream.revoke()
        let upload = stage.send("POST", "/upload", [UInt8](repeating: 0x61, count: 10_000), to: 0)
        let single = stage.upstream.counts
        stage.upstream.revoke()
        let answers = stage.together(clients)
        let seen = stage.upstream.counts - single
        report.check("a request with a body is sent again whole", upload.text.contains(#""bytes":10000"#), seen: "status \(upload.status)")
        report.check("it costs one refused attempt", single.refused == 1, seen: "\(single.refused)")
        report.check("every request is answered", answers.areAll(200), seen: answers.statuses)
        report.check("the endpoint is asked once", seen.endpointCalls == 1, seen: "\(seen.endpointCalls)")
        report.check("no request is sent more than twice", seen.refused <= clients, seen: "\(seen.refused) refused")
    }

    private static func idpDown(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try DrillStage()
        defer { stage.stop() }
        stage.upstream.faults.isEndpointDown = true
        let valid = stage.together(clients)
        report.check("a valid token is used", valid.areAll(200), seen: valid.statuses)
        stage.upstream.revoke()
        let dead = stage.together(clients)
        let seen = stage.upstream.counts
        report.check("with a dead one the API's 401 comes back", dead.areAll(401), seen: dead.statuses)
        let named = dead.count { $0.text.contains(#""reason":"refresh_failed""#) }
        report.check("named refresh_failed", named == dead.count, seen: "\(named) of \(dead.count)")
        report.check("the endpoint is not stormed", (1...3).contains(seen.endpointCalls), seen: "\(seen.endpointCalls) calls")
        stage.upstream.faults.isEndpointDown = false
        let recovered = waitFor200(stage)
        report.check("when it is up the login goes on", recovered.status == 200, seen: "status \(recovered.status)")
        report.check("no refresh token was presented twice", stage.upstream.counts.reuses == 0, seen: "\(stage.upstream.counts.reuses)")
    }

    /// After a failure the gateway waits for a while before it asks again.
    private static func waitFor200(_ stage: DrillStage) -> DrillAnswer {
        let giveUpAt = Clock.monotonicNanoseconds() + 20_000_000_000
        while true {
            let answer = stage.get()
            if answer.status == 200 || Clock.monotonicNanoseconds() >= giveUpAt { return answer }
            usleep(100_000)
        }
    }

    private static func idpSlow(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try DrillStage(DrillSetting(refresh: "timeout_ms: 2000, window: { seconds: 1, max: 1000 }"))
        defer { stage.stop() }
        stage.upstream.faults.endpointDelayMilliseconds = 700
        stage.upstream.revoke()
        let answers = stage.together(clients)
        let seen = stage.upstream.counts
        report.check("within its time everybody waits for one refresh", answers.areAll(200), seen: answers.statuses)
        report.check("the endpoint is asked once", seen.endpointCalls == 1, seen: "\(seen.endpointCalls)")
        stage.upstream.faults.endpointDelayMilliseconds = 60_000
        stage.upstream.revoke()
        let begin = Clock.monotonicNanoseconds()
        let late = stage.together(clients)
        let milliseconds = (Clock.monotonicNanoseconds() - begin) / 1_000_000
        report.check("beyond it the API's 401 comes back", late.areAll(401), seen: late.statuses)
        report.check("nobody waits much longer than that", milliseconds < 15_000, seen: "\(milliseconds) ms")
    }

    private static func storm(_ report: inout DrillReport) throws(GatewayError) {
        let stage = try DrillStage()
        defer { stage.stop() }
        stage.upstream.faults.endpointDelayMilliseconds = 200
        stage.upstream.revoke()
        let answers = stage.together(stormClients)
        let seen = stage.upstream.counts
        report.check("every request is answered", answers.areAll(200), seen: answers.statuses)
        report.check("the endpoint is asked once", seen.endpointCalls == 1, seen: "\(seen.endpointCalls)")
        report.check("no request is sent more than twice", seen.refused <= stormClients, seen: "\(seen.refused) refused")
    }

    private static func rotateRace(_ report: inout DrillReport, redis: String?) throws(GatewayError) {
        var setting = DrillSetting()
        if let redis {
            setting.gateways = 2
            setting.redis = (redis, "cryonet:drill:\(UInt64.random(in: .min ... .max))")
        }
        let stage = try DrillStage(setting)
        defer { stage.stop() }
        var answers: [DrillAnswer] = []
        for _ in 0..<rotations {
            stage.upstream.revoke()
            answers += stage.together(8)
        }
        let seen = stage.upstream.counts
        report.check("every request is answered", answers.areAll(200), seen: answers.statuses)
        report.check("one refresh for each rotation", seen.endpointCalls == rotations, seen: "\(seen.endpointCalls) for \(rotations)")
        report.check("no refresh token was presented twice", seen.reuses == 0, seen: "\(seen.reuses)")
        if redis != nil {
            // The fresh login keeps what is true of both gateways: the one that did not refresh has the other's token.
            let both = [stage.get(gateway: 0), stage.get(gateway: 1)]
            report.check("two gateways share the login", both.areAll(200), seen: both.statuses)
        }
    }
}
