// A token source that asks on a serial queue of its own, one question after the other: files, commands, endpoints.
// Domain: cold (its own serial queue)

package import CryoPipeline
import Dispatch

/// What a source does when it is asked, without knowing when and by whom.
protocol TokenProducer: Sendable {
    var canIssue: Bool { get }
    /// May block up to the timeout of a refresh.
    func produce(_ current: Credential?) -> SourceResult
}

package final class QueuedTokenSource: TokenRefresher {
    private let producer: any TokenProducer
    private let counters: SourceCounters
    private let queue: DispatchQueue

    init(_ producer: any TokenProducer, name: String, counters: SourceCounters, queue: DispatchQueue? = nil) {
        self.producer = producer
        self.counters = counters
        self.queue = queue ?? DispatchQueue(label: "cryonet.token.\(name)")
    }

    package var canRefresh: Bool { true }
    package var canIssue: Bool { producer.canIssue }

    package func refresh(_ current: Credential?, completion: @escaping @Sendable (RefreshResult) -> Void) {
        queue.async { [self] in
            let result = producer.produce(current)
            counters.add(result.outcomes)
            completion(result.refreshResult)
        }
    }
}
