// The admin listener of a running gateway: its own worker, so that a scrape never takes the data path's time, its server and its key.
// Domain: cold

import CryoAdmin
import CryoIO
import CryoPipeline
import CryoServer
import Dispatch

final class AdminSide: Sendable {
    /// Clients of the admin side: a few programs and pages.
    private static let connectionsMax = 256

    /// The bound address, as text.
    let address: String
    private let worker: Worker
    private let server: Server
    private let acceptor: AdminAcceptor
    private let key: Secret

    /// Listens from here on.
    init(
        _ settings: ListenSettings, key: Secret, limits: LimitSettings, workerIndex: Int, control: any GatewayControl,
        scrub: @escaping @Sendable (inout [UInt8]) -> Void
    ) throws(GatewayError) {
        self.key = key
        var limits = limits
        limits.connectionsMax = Self.connectionsMax
        do {
            worker = try Worker(index: workerIndex)
            acceptor = AdminAcceptor(table: AdminAPI(control).table(), door: AdminDoor(hosts: settings.hosts, key: key), scrub: scrub)
            // A client that has said everything waits for its answer: commands do.
            server = Server(workers: [worker], limits: limits, acceptor: acceptor, answersHalfClosed: true)
            worker.start()
            address = try server.listen(settings)
        } catch {
            throw GatewayError("can't listen on \(Gateway.text(settings.address)) for the admin side: \(error)")
        }
    }

    var openConnections: Int { server.statistics.openConnections }

    func replaceHosts(_ hosts: [String]) { acceptor.replaceDoor(AdminDoor(hosts: hosts, key: key)) }

    /// Lets the answers that are on their way out go, then cuts what is open and lets go of the worker. Not to be called on a worker.
    func close() {
        let drained = DispatchSemaphore(value: 0)
        server.beginDrain { drained.signal() }
        _ = drained.wait(timeout: .now() + .seconds(1))
        server.forceClose()
        worker.stop()
        worker.waitUntilStopped(.seconds(2))
    }

    // MARK: The key

    /// 256 bits, as hexadecimal text.
    static func makeKey() -> Secret {
        var generator = SystemRandomNumberGenerator()
        var text: [UInt8] = []
        for _ in 0..<4 {
            let digits = String(generator.next(), radix: 16)
            text += Array((String(repeating: "0", count: 16 - digits.count) + digits).utf8)
        }
        return Secret(text)
    }
}
