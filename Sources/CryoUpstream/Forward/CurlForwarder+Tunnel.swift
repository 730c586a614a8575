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
    /// Those libcurl is still connecting, by their handle.
    private var connecting: [UnsafeMutableRawPointer: CurlTunnel] = [:]

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

    mutating func noteConnecting(_ tunnel: CurlTunnel) {
        if let easy = tunnel.easy { connecting[easy] = tunnel }
    }

    mutating func takeConnected(_ easy: UnsafeMutableRawPointer?) -> CurlTunnel? {
        easy.flatMap { connecting.removeValue(forKey: $0) }
    }

    mutating func remove(_ tunnel: CurlTunnel) {
        _ = takeConnected(tunnel.easy)
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

    func connect(_ tunnel: CurlTunnel) {
        guard tunnel.isSound, addHandle(tunnel.easy) else { return tunnel.connected(CURLE_FAILED_INIT) }
        tunnel.isAdded = true
        tunnels.noteConnecting(tunnel)
    }

    /// Takes the handle out of libcurl, which closes its connection.
    func close(_ tunnel: CurlTunnel) {
        guard !tunnel.isClosed else { return }
        tunnel.isClosed = true
        tunnel.receiver = nil
        if tunnel.isAdded { removeHandle(tunnel.easy) }
        tunnel.isAdded = false
        tunnels.remove(tunnel)
        worker.withdraw(tunnel)
    }

    /// The connection libcurl made: from now on its events are the tunnel's.
    func takeSocket(of easy: UnsafeMutableRawPointer?, for tunnel: CurlTunnel) -> Int32? {
        var descriptor: curl_socket_t = -1
        guard cryo_easy_info_socket(easy, CURLINFO_ACTIVESOCKET, &descriptor) == CURLE_OK, let socket = sockets[descriptor] else {
            return nil
        }
        socket.handOver(to: tunnel)
        return descriptor
    }

    func installSocketCallbacks(_ options: inout EasyOptions, _ easy: UnsafeMutableRawPointer?) {
        // SAFETY: the forwarder outlives every connection.
        let forwarder = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_OPENSOCKETDATA, pointer: forwarder)
        options.set(CURLOPT_CLOSESOCKETDATA, pointer: forwarder)
        let opens = cryo_easy_open_callback(easy) { context, _, address in
            guard let context, let address else { return -1 }
            return CurlForwarder.from(context).openSocket(address)
        }
        options.note(opens)
        let closes = cryo_easy_close_callback(easy) { context, descriptor in
            guard let context else { return -1 }
            return CurlForwarder.from(context).closeSocket(descriptor)
        }
        options.note(closes)
    }
}
