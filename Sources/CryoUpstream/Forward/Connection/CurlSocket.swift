// One socket libcurl uses, as an endpoint of the worker, and the lazy re-arming of its epoll registration.
// Domain: worker

import CCurl
import CryoIO
import Glibc

/// Registered from its first use until it is closed. What libcurl wants is only noted; epoll is told when more is wanted than
/// is armed, or when an event nobody wants arrives. A kept connection so costs no system call per transfer (3.7 µs saved).
final class CurlSocket: Endpoint {
    // SAFETY: the forwarder withdraws all its sockets before it goes.
    private unowned(unsafe) let forwarder: CurlForwarder
    let descriptor: Int32
    /// Opened by us, so that we hear of its end. libcurl's resolver has sockets that it closes itself.
    let isOurs: Bool
    private var wanted: UInt32 = 0
    private var armed: UInt32 = 0
    private var isWatched = false
    /// Uses the connection itself since libcurl has made it; libcurl's wishes count no more.
    private var connection: UpstreamConnection?

    init(_ descriptor: Int32, isOurs: Bool, forwarder: CurlForwarder) {
        self.forwarder = forwarder
        self.descriptor = descriptor
        self.isOurs = isOurs
        super.init(worker: forwarder.worker)
    }

    /// libcurl wants these events from now on; 0 for none.
    func want(_ events: UInt32) {
        guard connection == nil else { return }
        wanted = events
        if events & ~armed != 0 { arm(events) }
    }

    /// Before libcurl closes a socket of its own.
    func unwatch() {
        if isWatched { worker.unwatch(descriptor) }
        isWatched = false
        armed = 0
    }

    func handOver(to connection: UpstreamConnection) {
        self.connection = connection
        arm(EventMask.readable | EventMask.writable | EventMask.peerClosed | EventMask.edge)
    }

    private func arm(_ events: UInt32) {
        armed = events
        if isWatched, worker.rewatch(descriptor, events, for: self) { return }
        isWatched = worker.watch(descriptor, events, for: self)
    }

    override func ready(_ events: UInt32) {
        if let connection { return connection.ready(events) }
        // An idle pooled connection that its peer closed: heard of once, not again and again. libcurl finds it dead before use.
        guard wanted != 0 else { return arm(EventMask.edge) }
        guard events & (wanted | EventMask.error | EventMask.hangUp) != 0 else { return arm(wanted) }
        var mask: Int32 = 0
        if events & (EventMask.readable | EventMask.hangUp) != 0 { mask |= CURL_CSELECT_IN }
        if events & EventMask.writable != 0 { mask |= CURL_CSELECT_OUT }
        if events & EventMask.error != 0 { mask |= CURL_CSELECT_ERR }
        forwarder.drive(descriptor, mask)
    }
}

/// The sockets of one forwarder by descriptor.
struct CurlSocketTable {
    private var sockets: [CurlSocket?] = []

    subscript(_ descriptor: Int32) -> CurlSocket? {
        get {
            let index = Int(descriptor)
            return index >= 0 && index < sockets.count ? sockets[index] : nil
        }
        set {
            let index = Int(descriptor)
            guard index >= 0 else { return }
            while sockets.count <= index { sockets.append(nil) }
            sockets[index] = newValue
        }
    }

    var all: [CurlSocket] { sockets.compactMap { $0 } }
}

extension CurlForwarder {
    /// libcurl opens a socket: ours from the start, so that its registration ends exactly with it.
    func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let flags = Int32(bitPattern: UInt32(SOCK_CLOEXEC.rawValue) | UInt32(SOCK_NONBLOCK.rawValue))
        let descriptor = socket(address.pointee.family, address.pointee.socktype | flags, address.pointee.protocol)
        if descriptor >= 0 { adopt(descriptor, isOurs: true) }
        return descriptor
    }

    func closeSocket(_ descriptor: curl_socket_t) -> Int32 {
        drop(descriptor)
        return Glibc.close(descriptor)
    }

    func socketWanted(_ descriptor: curl_socket_t, _ what: Int32) {
        let events: UInt32
        switch what {
        case CURL_POLL_IN: events = EventMask.readable
        case CURL_POLL_OUT: events = EventMask.writable
        case CURL_POLL_INOUT: events = EventMask.readable | EventMask.writable
        default: events = 0
        }
        if let socket = sockets[descriptor] {
            socket.want(events)
            if events == 0, !socket.isOurs {
                socket.unwatch()
                drop(descriptor)
            }
        } else if events != 0 {
            adopt(descriptor, isOurs: false).want(events)
        }
    }

    @discardableResult
    private func adopt(_ descriptor: Int32, isOurs: Bool) -> CurlSocket {
        drop(descriptor)
        let socket = CurlSocket(descriptor, isOurs: isOurs, forwarder: self)
        worker.enrol(socket)
        sockets[descriptor] = socket
        return socket
    }

    /// Closing takes the descriptor out of epoll; the new generation drops what is still under way.
    private func drop(_ descriptor: Int32) {
        guard let socket = sockets[descriptor] else { return }
        worker.withdraw(socket)
        sockets[descriptor] = nil
    }
}
