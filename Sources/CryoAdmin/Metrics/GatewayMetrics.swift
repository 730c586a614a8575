// Every metric of the gateway, by the names and units of Prometheus. Labels hold names of the configuration and closed sets only.
// Domain: cold

import CryoPipeline
import CryoSync

enum GatewayMetrics {
    static func text(of snapshot: GatewaySnapshot, feed: ExchangeFeed? = nil, readers: Int = 0) -> [UInt8] {
        var text = MetricsText()
        appendProcess(snapshot, &text)
        if let statistics = snapshot.statistics { appendExchanges(statistics, &text) }
        appendUpstreams(snapshot, &text)
        appendRoutes(snapshot, &text)
        appendTokens(snapshot, &text)
        appendSessions(snapshot, &text)
        appendHooks(snapshot, &text)
        appendAudit(snapshot, &text)
        if let feed { append(feed, readers: readers, &text) }
        return text.bytes
    }

    private static func appendProcess(_ snapshot: GatewaySnapshot, _ text: inout MetricsText) {
        text.family("cryonet_build_info", .gauge, "The version, as a label.")
        text.sample("cryonet_build_info", [("version", snapshot.version)], 1)
        text.family("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.")
        text.sample("process_start_time_seconds", [], UInt64(max(0, snapshot.startUnixSeconds)))
        text.family("cryonet_draining", .gauge, "1 while the gateway refuses new connections in order to end.")
        text.sample("cryonet_draining", [], snapshot.isDraining ? 1 : 0)
        text.family("cryonet_exchanges_open", .gauge, "Exchanges that have begun and not ended.")
        text.sample("cryonet_exchanges_open", [], UInt64(max(0, snapshot.openExchanges)))
        text.family("cryonet_connections_open", .gauge, "Client connections by listener.")
        text.sample("cryonet_connections_open", [("listener", "listen")], UInt64(max(0, snapshot.openConnections)))
        text.sample("cryonet_connections_open", [("listener", "admin")], UInt64(max(0, snapshot.openAdminConnections)))
        text.family("cryonet_tls_handshakes_failed_total", .counter, "TLS handshakes of clients that did not succeed.")
        text.sample("cryonet_tls_handshakes_failed_total", [], UInt64(max(0, snapshot.failedHandshakes)))
        text.family("cryonet_config_reloads_total", .counter, "Reloads of the configuration by outcome.")
        text.sample("cryonet_config_reloads_total", [("outcome", "taken")], snapshot.reloadsDone)
        text.sample("cryonet_config_reloads_total", [("outcome", "refused")], snapshot.reloadsRefused)
        text.family("cryonet_config_last_reload_successful", .gauge, "1 unless the last reload was refused.")
        text.sample("cryonet_config_last_reload_successful", [], snapshot.isLastReloadTaken ? 1 : 0)
    }

    // MARK: Exchanges

    private static func appendExchanges(_ statistics: ExchangeStatistics, _ text: inout MetricsText) {
        // The empty name stands for exchanges that came to no route.
        let routes = [("", statistics.unrouted)] + statistics.routes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        text.family("cryonet_exchanges_total", .counter, "Exchanges by route and by the outcome of each step.")
        for (name, route) in routes {
            for (index, row) in RouteStatistics.outcomes.enumerated() {
                let count = route.outcomes.sum(index)
                // What a matched route can't have been counted for would only be noise.
                if count == 0, name.isEmpty || !startsAtRoute(row.step) { continue }
                text.sample("cryonet_exchanges_total", [("route", name), ("step", row.step.rawValue), ("outcome", row.outcome)], count)
            }
        }
        text.family("cryonet_failures_total", .counter, "Failures shown to clients, by route and reason.")
        for (name, route) in routes {
            for reason in FailureReason.allCases {
                let count = route.failures.sum(reason.position)
                if count > 0 { text.sample("cryonet_failures_total", [("route", name), ("reason", reason.rawValue)], count) }
            }
        }
        text.family("cryonet_replies_total", .counter, "Replies by route and class of status.")
        for (name, route) in routes {
            for digit in 1...5 {
                text.sample("cryonet_replies_total", [("route", name), ("status", "\(digit)xx")], route.statuses.sum(digit))
            }
        }
        text.family("cryonet_exchange_duration_seconds", .histogram, "From the first byte of a request to the end of its reply, by route.")
        for (name, route) in routes { append("cryonet_exchange_duration_seconds", "route", name, route.durations, &text) }
        text.family("cryonet_attempt_duration_seconds", .histogram, "From the start of an attempt to its end, by upstream.")
        for (name, durations) in statistics.upstreams.sorted(by: { $0.key < $1.key }) {
            append("cryonet_attempt_duration_seconds", "upstream", name, durations, &text)
        }
        appendStreams(statistics.routes.sorted { $0.key < $1.key }, &text)
    }

    /// Streams of routes that never had one are left out.
    private static func appendStreams(_ routes: [(key: String, value: RouteStatistics)], _ text: inout MetricsText) {
        let used = routes.filter { $0.value.streams.sum(StreamCount.opened.rawValue) > 0 }
        text.family("cryonet_streams_open", .gauge, "Event streams and JSON lines on their way to clients, by route.")
        for (name, route) in used {
            // The ends first: a stream that ends in between must not make it negative.
            let closed = route.streams.sum(StreamCount.closed.rawValue)
            text.sample("cryonet_streams_open", [("route", name)], max(route.streams.sum(StreamCount.opened.rawValue), closed) - closed)
        }
        text.family("cryonet_streams_total", .counter, "Streams that began, by route.")
        for (name, route) in used {
            text.sample("cryonet_streams_total", [("route", name)], route.streams.sum(StreamCount.opened.rawValue))
        }
        text.family("cryonet_stream_events_total", .counter, "Whole events and records of streams without a content coding, by route.")
        for (name, route) in used {
            text.sample("cryonet_stream_events_total", [("route", name)], route.streams.sum(StreamCount.events.rawValue))
        }
        text.family("cryonet_stream_heartbeats_total", .counter, "Comments sent to clients of silent streams, by route.")
        for (name, route) in used {
            text.sample("cryonet_stream_heartbeats_total", [("route", name)], route.streams.sum(StreamCount.heartbeats.rawValue))
        }
        text.family("cryonet_stream_reconnects_total", .counter, "Lost streams asked for again, and those that went on, by route.")
        for (name, route) in used {
            for (outcome, count) in [("tried", StreamCount.reconnects), ("resumed", .resumed)] {
                let labels = [(name: "route", value: name), (name: "outcome", value: outcome)]
                text.sample("cryonet_stream_reconnects_total", labels, route.streams.sum(count.rawValue))
            }
        }
    }

    private static func startsAtRoute(_ step: Step) -> Bool { step != .accept && step != .read && step != .route }

    private static func append(
        _ name: String, _ label: String, _ value: String, _ histogram: DurationHistogram, _ text: inout MetricsText
    ) {
        text.histogram(
            name, [(label, value)], bounds: DurationHistogram.bounds, buckets: histogram.buckets, sumMicroseconds: histogram.sumMicroseconds
        )
    }

    // MARK: Tokens, sessions, audit

    private static func appendTokens(_ snapshot: GatewaySnapshot, _ text: inout MetricsText) {
        let tokens = snapshot.tokens
        text.family("cryonet_token_refreshes_total", .counter, "Refreshes by token and by how they ended.")
        for token in tokens {
            for end in TokenStatistics.RefreshEnd.allCases {
                let labels = [(name: "token", value: token.name), (name: "outcome", value: end.rawValue)]
                text.sample("cryonet_token_refreshes_total", labels, token.statistics.count(of: end))
            }
        }
        text.family("cryonet_token_source_outcomes_total", .counter, "How asking a token's source ended.")
        for token in tokens {
            for (name, count) in token.sourceOutcomes() {
                text.sample("cryonet_token_source_outcomes_total", [("token", token.name), ("outcome", name)], count)
            }
        }
        text.family("cryonet_token_store_events_total", .counter, "What happened to the store of a token.")
        for token in tokens {
            for (name, count) in token.keeping().events {
                text.sample("cryonet_token_store_events_total", [("token", token.name), ("event", name)], count)
            }
        }
        text.family("cryonet_token_store_working", .gauge, "1 unless the store could not be written or reached the last time.")
        for token in tokens {
            text.sample("cryonet_token_store_working", [("token", token.name)], token.keeping().trouble == nil ? 1 : 0)
        }
        text.family("cryonet_token_state", .gauge, "1 for the state a token is in.")
        for token in tokens {
            let expiry = token.store.snapshot().map { $0.expiresAt ?? .max }
            let state = expiry.map { $0 <= AdminAPI.unixSeconds ? "expired" : "valid" } ?? "missing"
            for name in ["valid", "expired", "missing"] {
                text.sample("cryonet_token_state", [("token", token.name), ("state", name)], name == state ? 1 : 0)
            }
        }
        text.family("cryonet_token_version", .gauge, "The version of the present token; 0 when there is none.")
        for token in tokens { text.sample("cryonet_token_version", [("token", token.name)], token.store.snapshot()?.version ?? 0) }
        text.family("cryonet_token_age_seconds", .gauge, "How long ago the token last changed; absent before the first.")
        for token in tokens {
            guard let changedAt = token.statistics.changedAt else { continue }
            text.sample("cryonet_token_age_seconds", [("token", token.name)], UInt64(max(0, AdminAPI.unixSeconds - changedAt)))
        }
        text.family("cryonet_token_expiry_timestamp_seconds", .gauge, "When the present token ends; absent when that is unknown.")
        for token in tokens {
            guard let expiresAt = token.store.snapshot()?.expiresAt else { continue }
            text.sample("cryonet_token_expiry_timestamp_seconds", [("token", token.name)], UInt64(max(0, expiresAt)))
        }
    }

    private static func appendSessions(_ snapshot: GatewaySnapshot, _ text: inout MetricsText) {
        text.family("cryonet_session_state", .gauge, "1 for the state a session is in.")
        for keeper in snapshot.sessions {
            let current = keeper.session.state
            for state in Session.State.allCases {
                text.sample("cryonet_session_state", [("session", keeper.name), ("state", state.rawValue)], state == current ? 1 : 0)
            }
        }
        text.family("cryonet_session_events_total", .counter, "Logins that began, expired, and were ended by request.")
        for keeper in snapshot.sessions {
            let counts = keeper.counts
            for name in SessionEvent.names {
                text.sample("cryonet_session_events_total", [("session", keeper.name), ("event", name)], counts[name] ?? 0)
            }
        }
    }

    private static func appendHooks(_ snapshot: GatewaySnapshot, _ text: inout MetricsText) {
        text.family("cryonet_hook_events_total", .counter, "Events for the hooks of a token or policy: sent, failed, or dropped unsent.")
        for hook in snapshot.hooks {
            for (outcome, count) in [("sent", hook.sent), ("failed", hook.failed), ("dropped", hook.dropped)] {
                text.sample("cryonet_hook_events_total", [(hook.owner, hook.name), ("outcome", outcome)], count)
            }
        }
    }

    private static func append(_ feed: ExchangeFeed, readers: Int, _ text: inout MetricsText) {
        text.family("cryonet_feed_readers", .gauge, "Readers of the stream of exchanges.")
        text.sample("cryonet_feed_readers", [], UInt64(max(0, readers)))
        text.family("cryonet_feed_records", .gauge, "Recent exchanges kept in memory.")
        text.sample("cryonet_feed_records", [], UInt64(feed.exchanges.kept.count))
        text.family("cryonet_feed_dropped_total", .counter, "What readers of the stream came too late for.")
        text.sample("cryonet_feed_dropped_total", [("feed", "exchange")], feed.exchangesDropped.load(ordering: .relaxed))
        text.sample("cryonet_feed_dropped_total", [("feed", "monitor")], feed.eventsDropped.load(ordering: .relaxed))
    }

    private static func appendAudit(_ snapshot: GatewaySnapshot, _ text: inout MetricsText) {
        if let echoed = snapshot.echoedSecrets {
            text.family("cryonet_secrets_echoed_total", .counter, "Answers that carried one of the gateway's secrets to a client.")
            text.sample("cryonet_secrets_echoed_total", [], echoed)
        }
        guard let audit = snapshot.audit else { return }
        text.family("cryonet_audit_records_total", .counter, "Audit records that are in the file, and those that never will be.")
        text.sample("cryonet_audit_records_total", [("outcome", "written")], audit.written)
        text.sample("cryonet_audit_records_total", [("outcome", "dropped")], audit.dropped)
        text.family("cryonet_audit_writable", .gauge, "1 unless the last batch could not be written.")
        text.sample("cryonet_audit_writable", [], audit.isWritable ? 1 : 0)
    }
}
