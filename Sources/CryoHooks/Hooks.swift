// All hooks of the gateway, by the token or policy they belong to. Lives on over reloads; the table in it is swapped whole.
// Domain: shared (one lock, held for a look-up)

import CryoJSON
package import CryoPipeline
import CryoSync

/// Where a hook is configured.
package enum HookOwner: Sendable, Hashable {
    case token(String)
    case policy(String)

    /// `token` or `policy`, and its name.
    package var parts: (kind: String, name: String) {
        switch self {
        case .token(let name): ("token", name)
        case .policy(let name): ("policy", name)
        }
    }

    package var text: String {
        switch self {
        case .token(let name): "token \(name)"
        case .policy(let name): "policy \(name)"
        }
    }
}

package final class Hooks: HookSink, SessionObserver {
    private let table = Mutex<[HookOwner: [HookQueue]]>([:])
    private let unixMicroseconds: @Sendable () -> Int64

    package init(unixMicroseconds: @escaping @Sendable () -> Int64) { self.unixMicroseconds = unixMicroseconds }

    /// From now on these are told. Those that are not among them any more finish what they hold.
    package func use(_ new: [HookOwner: [HookQueue]]) {
        let old = table.withLock { table in
            defer { table = new }
            return table
        }
        let kept = new.values.flatMap(\.self)
        for queue in old.values.flatMap(\.self) where !kept.contains(where: { $0 === queue }) { queue.close() }
    }

    package var queues: [HookOwner: [HookQueue]] { table.withLock { $0 } }

    /// Ends them all; waits a moment for what is still to be told.
    package func close(within milliseconds: Int) {
        let all = queues.values.flatMap(\.self)
        for queue in all { queue.close() }
        for queue in all { queue.waitUntilEmpty(milliseconds) }
    }

    // MARK: HookSink

    package func wantsFailure(token: String?, policy: String?, isAuthentication: Bool) -> Bool {
        !interested(in: .failure, token: isAuthentication ? token : nil, policy: policy).isEmpty
    }

    package func failed(token: String?, policy: String?, isAuthentication: Bool, body: [UInt8]) {
        let event = HookEvent(kind: .failure, body: body)
        for queue in interested(in: .failure, token: isAuthentication ? token : nil, policy: policy) { queue.add(event) }
    }

    package func sessionExpired(policy: String, token: String, revision: SessionRevision) {
        tell(interested(in: .sessionExpired, token: nil, policy: policy), token, revision)
    }

    // MARK: SessionObserver

    /// Each hook belongs to one of the session's tokens, so that each is told once. An end that somebody asked for is no expiry.
    package func observe(_ event: SessionEvent, of session: String, tokens: [String]) {
        guard case .expired(let revision) = event else { return }
        for token in tokens { tell(interested(in: .sessionExpired, token: token, policy: nil), token, revision) }
    }

    private func tell(_ queues: [HookQueue], _ token: String, _ revision: SessionRevision) {
        guard !queues.isEmpty else { return }
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("event", HookSettings.Event.sessionExpired.rawValue)
        RFC3339.text(unixMicroseconds: unixMicroseconds()).withUnsafeBytes { writer.field("time", bytes: $0) }
        writer.field("token", token)
        revision.text.withUnsafeBytes { writer.field("session", bytes: $0) }
        writer.endObject()
        let event = HookEvent(kind: .sessionExpired, body: writer.bytes, revision: revision)
        for queue in queues { queue.add(event) }
    }

    private func interested(in kind: HookSettings.Event, token: String?, policy: String?) -> [HookQueue] {
        table.withLock { table in
            if table.isEmpty { return [] }
            let owners = [token.map { HookOwner.token($0) }, policy.map { HookOwner.policy($0) }].compactMap(\.self)
            return owners.flatMap { table[$0] ?? [] }.filter { $0.events.contains(kind) }
        }
    }
}
