// /livez, /readyz, /startupz and /metrics: what an orchestrator and a collector ask.
// Domain: cold

import CryoJSON
import CryoPipeline

extension AdminAPI {
    var healthRoutes: [AdminRoute] {
        [
            AdminRoute("GET", "/livez", access: .probe, "whether the process answers", answers: [.init(200, "it does", "Health")]) {
                _, reply in reply(Self.health([]))
            },
            AdminRoute(
                "GET", "/startupz", access: .probe, "whether the start is done: the listeners are open",
                answers: [.init(200, "it is", "Health"), .init(503, "not yet", "Health")]
            ) { [control] _, reply in
                reply(Self.health([("started", control.snapshot().isStarted)]))
            },
            AdminRoute(
                "GET", "/readyz", access: .probe,
                "whether requests are served well: started, not draining, tokens at hand or obtainable, their files and the audit writable",
                answers: [.init(200, "they are", "Health"), .init(503, "they are not, with the checks that say so", "Health")]
            ) { [control] _, reply in
                let snapshot = control.snapshot()
                reply(
                    Self.health([
                        ("started", snapshot.isStarted), ("accepting", !snapshot.isDraining),
                        // A source that can get a token does so when the first request needs it.
                        ("tokens", snapshot.tokens.allSatisfy { $0.statistics.hadToken || $0.store.canRefresh }),
                        // A rotated pair that is in memory only is lost with the process. A Redis that is away is no such thing: what is
                        // renewed meanwhile is written as soon as it is back.
                        ("stores", snapshot.tokens.map { $0.keeping() }.allSatisfy { $0.kind != "file" || $0.trouble == nil }),
                        ("audit", snapshot.audit?.isWritable ?? true),
                    ]))
            },
            AdminRoute(
                "GET", "/metrics", access: .open, "counters for Prometheus, text format 0.0.4", answers: [.init(200, "the counters")]
            ) { [control, readers] _, reply in
                let text = GatewayMetrics.text(of: control.snapshot(), feed: control.feed, readers: readers.now)
                reply(AdminReply(contentType: MetricsText.contentType, body: text))
            },
        ]
    }

    private static func health(_ checks: [(name: String, isGood: Bool)]) -> AdminReply {
        let isGood = checks.allSatisfy(\.isGood)
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("status", isGood ? "ok" : "failing")
        writer.key("checks")
        writer.beginObject()
        for check in checks {
            writer.key(check.name)
            writer.string(check.isGood ? "ok" : "failing")
        }
        writer.endObject()
        writer.endObject()
        return AdminReply(status: isGood ? 200 : 503, body: writer.bytes + [0x0A])
    }
}
