// /api/config, /api/reload, /api/drain: what the gateway runs with, and the calls that change its life.
// Domain: cold

import CryoJSON
import CryoPipeline

extension AdminAPI {
    var configurationRoutes: [AdminRoute] {
        [
            AdminRoute(
                "GET", "/api/config", "the effective configuration as YAML, with the origin of each value, secrets masked",
                answers: [.init(200, "the configuration"), Self.unauthorized]
            ) { [control] _, reply in
                var answer = AdminReply(contentType: "application/yaml", body: Array(control.configurationText().utf8))
                answer.hasETag = true
                reply(answer)
            },
            AdminRoute(
                "POST", "/api/reload", "read the configuration file again and take it whole, or nothing of it",
                answers: [.init(200, "taken", "Reloaded"), Self.unauthorized, Self.refused]
            ) { [control] _, reply in
                control.reload { answer in
                    switch answer {
                    case .done(let needsRestart): reply(Self.reloaded(needsRestart))
                    case .nothingToReload: reply(.failure(.adminRefused, "there is no configuration file to reload"))
                    case .refused(let cause, let problems): reply(.failure(.adminRefused, cause, problems: problems))
                    }
                }
            },
            AdminRoute(
                "POST", "/api/drain", "refuse new connections, let open exchanges end, then exit",
                answers: [.init(202, "begun", "Draining"), Self.unauthorized]
            ) { [control] _, reply in
                reply(Self.word("draining", status: 202))
                control.drain()
            },
        ]
    }

    private static func reloaded(_ needsRestart: [String]) -> AdminReply {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("reloaded", true)
        writer.key("needsRestart")
        AdminProblems.write(needsRestart, to: &writer)
        writer.endObject()
        return AdminReply(body: writer.bytes + [0x0A])
    }

    private static func word(_ name: StaticString, status: UInt16 = 200) -> AdminReply {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field(name, true)
        writer.endObject()
        return AdminReply(status: status, body: writer.bytes + [0x0A])
    }
}
