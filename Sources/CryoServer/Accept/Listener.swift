// One listening socket and the acceptor that takes connections from it and hands them to workers.
// Domain: shared

import CryoIO
import CryoPipeline
import Dispatch
import Glibc

/// Accepts on its own serial queue. When the process runs out of descriptors it stops looking at the socket for a moment: the
/// waiting connections stay in the kernel's queue, and nothing spins.
// SAFETY: mutable state is touched on `queue` only.
final class Listener: @unchecked Sendable {
    /// Connections taken per wake-up.
    private static let acceptsMax = 256
    private static let backOffMilliseconds = 100

    /// The bound address as text.
    let boundAddress: String
    private let descriptor: Int32
    private let unixPath: String?
    private let queue = DispatchQueue(label: "cryonet.acceptor")
    private let source: any DispatchSourceRead
    private let handOver: @Sendable (Int32) -> Void
    private var isSuspended = false
    private var isStopped = false

    init(_ settings: ListenSettings, handOver: @escaping @Sendable (Int32) -> Void) throws(SystemError) {
        switch settings.address {
        case .tcp(let host, let port):
            descriptor = try ListeningSocket.openTCP(host: host, port: port)
            unixPath = nil
            guard let name = Socket.localName(descriptor) else {
                let failure = SystemError("getsockname")
                Socket.close(descriptor)
                throw failure
            }
            boundAddress = name
        case .unix(let path):
            descriptor = try ListeningSocket.openUnix(path: path, mode: settings.mode)
            unixPath = path
            boundAddress = "unix:\(path)"
        }
        self.handOver = handOver
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    }

    deinit {
        // A back-off keeps the listener alive: the source is not suspended here.
        if !isStopped { source.cancel() }
    }

    /// Begins to accept.
    nonisolated func start() {
        let descriptor = descriptor
        source.setEventHandler { @Sendable [weak self] in self?.acceptBatch() }
        source.setCancelHandler { @Sendable in Socket.close(descriptor) }
        source.activate()
    }

    /// Takes what has connected so far, then closes the socket. New connections are refused by the kernel from then on.
    func stop() {
        queue.sync {
            guard !isStopped else { return }
            acceptBatch()
            isStopped = true
            if isSuspended { source.resume() }
            source.cancel()
            if let unixPath { unlink(unixPath) }
        }
        // The cancel handler, which closes the socket, has run when this returns.
        queue.sync {}
    }

    private func acceptBatch() {
        guard !isStopped else { return }
        for _ in 0..<Self.acceptsMax {
            switch ListeningSocket.accept(descriptor) {
            case .accepted(let client): handOver(client)
            case .aborted: continue
            case .wouldBlock: return
            case .exhausted, .failed: return backOff()
            }
        }
    }

    private func backOff() {
        guard !isSuspended else { return }
        isSuspended = true
        source.suspend()
        queue.asyncAfter(deadline: .now() + .milliseconds(Self.backOffMilliseconds)) { @Sendable [self] in
            guard !isStopped, isSuspended else { return }
            isSuspended = false
            source.resume()
        }
    }
}
