// /api/upstreams: where requests go, and whether their breakers let them.
// Domain: cold

import CryoJSON
import CryoPipeline

extension AdminAPI {
    var upstreamRoutes: [AdminRoute] {
        [
            AdminRoute(
                "GET", "/api/upstreams", "every upstream with the state of its breaker",
                answers: [.init(200, "the upstreams", "UpstreamList"), Self.unauthorized]
            ) { [control] _, reply in
                let snapshot = control.snapshot()
                var writer = JSONWriter()
                writer.beginObject()
                writer.key("upstreams")
                writer.beginArray()
                for upstream in snapshot.upstreams { Self.append(upstream, at: snapshot.nanoseconds, to: &writer) }
                writer.endArray()
                writer.endObject()
                reply(Self.list(writer))
            }
        ]
    }

    private static func append(_ upstream: UpstreamPlan, at now: UInt64, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("name", upstream.settings.name)
        writer.field("url", upstream.settings.url.origin + upstream.settings.url.basePath)
        if let status = upstream.breaker?.status(at: now) {
            writer.key("breaker")
            writer.beginObject()
            writer.field("state", status.state.rawValue)
            writer.field("attempts", Int64(clamping: status.attempts))
            writer.field("failures", Int64(clamping: status.failures))
            if status.state == .open {
                writer.field("retryAfterMs", Int64(clamping: status.retryAfterMilliseconds))
            } else {
                writer.nullField("retryAfterMs")
            }
            writer.field("opened", Int64(clamping: status.opened))
            writer.field("refused", Int64(clamping: status.refused))
            writer.endObject()
        } else {
            writer.nullField("breaker")
        }
        writer.endObject()
    }
}
