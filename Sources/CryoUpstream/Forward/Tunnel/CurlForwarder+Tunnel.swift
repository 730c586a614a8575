// The tunnels of one forwarder: their names, their handles in the multi and their sockets.
// Domain: worker

import CCurl
import CryoIO
import CryoPipeline

/// By slot and generation, like transfers; the highest bit of the slot tells the two apart.
struct CurlTunnelTable {
    private static let mark: UInt32 = 0x8000_0000
    private var tunnels: [CurlTunnel?] = []
    private var generations: [UInt32] = []
    private var free: [UInt32] = []

    var count: Int { tunnels.count - free.count }
    var all: [CurlTunnel] { tunnels.compactMap { $0 } }

    mutating func insert(_ make: (AttemptID) -> CurlTunnel) -> CurlTunnel {
        let slot: UInt32
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = UInt32(tunnels.count)
            tunnels.append(nil)
            generations.append(0)
        }
        let tunnel = make(AttemptID(slot: slot | Self.mark, generation: generations[Int(slot)]))
        tunnels[Int(slot)] = tunnel
        return tunnel
    }

    func find(_ id: AttemptID) -> CurlTunnel? {
        guard id.slot & Self.mark != 0 else { return nil }
        let slot = Int(id.slot & ~Self.mark)
        guard slot < tunnels.count, generations[slot] == id.generation else { return nil }
        return tunnels[slot]
    }

    mutating func remove(_ tunnel: CurlTunnel) {
        let slot = tunnel.attempt.slot & ~Self.mark
        guard Int(slot) < tunnels.count, tunnels[Int(slot)] === tunnel else { return }
        tunnels[Int(slot)] = nil
        generations[Int(slot)] &+= 1
        free.append(slot)
    }
}

extension CurlForwarder {
    func beginTunnel(_ request: AttemptRequest, receiver: any AttemptReceiver) -> AttemptID {
        let tunnel = tunnels.insert { CurlTunnel(request, attempt: $0, receiver: receiver, forwarder: self) }
        worker.enrol(tunnel)
        // libcurl may be running now.
        worker.afterBatch(tunnel)
        return tunnel.attempt
    }

    func begin(_ tunnel: CurlTunnel) { tunnel.isAdded = connect(tunnel) }

    /// Takes the handle out of libcurl, which closes its connection.
    func close(_ tunnel: CurlTunnel) {
        guard !tunnel.isClosed else { return }
        tunnel.isClosed = true
        tunnel.receiver = nil
        disconnect(tunnel)
        tunnels.remove(tunnel)
        worker.withdraw(tunnel)
    }
}
