// The one worker of a process that all clients share, with its forwarder and pool of connections.
// Domain: shared (a handle on what lives on the worker)

import CryoCoding
import CryoIO
import CryoJSON
import CryoPipeline
import CryoSync
import CryoUpstream

// SAFETY: all but `worker` is touched on the worker only, once it has started.
final class NetworkRuntime: @unchecked Sendable {
    let worker: Worker
    let forwarder: CurlForwarder
    let scanner = JSONScanner()
    let counters = ExchangeCounters()
    let submit: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Made at the first request, and never ended: idle it costs three descriptors.
    static let shared: Result<NetworkRuntime, SystemError> = {
        do throws(SystemError) {
            return .success(try NetworkRuntime())
        } catch {
            return .failure(error)
        }
    }()

    private init() throws(SystemError) {
        let worker = try Worker(index: 0)
        self.worker = worker
        forwarder = try CurlForwarder(on: worker)
        submit = { worker.submit($0) }
        worker.start()
    }
}
