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
    /// Tells this socket from another that has got its number since; 0 when that is not needed.
    private var identity: UInt64
    /// libcurl has let go of it once, to keep or to close it.
    private var hasRested = false
    /// The kernel would not watch it: asked again after this, until it does or the socket is closed.
    private static let retryNanoseconds: UInt64 = 10_000_000
    private var unarmed: UInt32 = 0
    /// Uses the connection itself since libcurl has made it; libcurl's wishes count no more.
    private var connection: UpstreamConnection?

    init(_ descriptor: Int32, isOurs: Bool, forwarder: CurlForwarder) {
        self.forwarder = forwarder
        self.descriptor = descriptor
        self.isOurs = isOurs
        identity = isOurs ? Socket.identity(descriptor) : 0
        super.init(worker: forwarder.worker)
    }

    /// libcurl wants these events from now on; 0 for none.
    func want(_ events: UInt32) {
        guard connection == nil else { return }
        // Back from the pool: it is a connection, and libcurl tells when it closes one.
        if hasRested, events != 0 { identity = 0 }
        if events == 0 { hasRested = true }
        wanted = events
        if events & ~armed != 0 { arm(events) }
    }

    /// A socket that has not become a connection, because its transfer was given up or another address was faster, is closed by libcurl
    /// without our callback (7.88: "we did never publish it"). Its number may be a client's by now.
    var isGone: Bool { identity != 0 && Socket.identity(descriptor) != identity }

    /// Before libcurl closes a socket of its own.
    func unwatch() {
        if isWatched { worker.unwatch(descriptor) }
        isWatched = false
        armed = 0
        unarmed = 0
    }

    func handOver(to connection: UpstreamConnection) {
        self.connection = connection
        arm(EventMask.readable | EventMask.writable | EventMask.peerClosed | EventMask.edge)
    }

    /// The connection has ended. Its handle closes the socket, now or, where libcurl has kept it, when the connection is gone: which it
    /// never was as long as it is held here.
    func letGo(of ended: UpstreamConnection) {
        if connection === ended { connection = nil }
    }

    /// The descriptor is closed; its number may be somebody else's next.
    func isClosing() { connection?.loseSocket() }

    private func arm(_ events: UInt32) {
        // A registration that can't be changed is still there, or its socket is closed. It is never added again: the number may be
        // somebody else's.
        let isArmed = isWatched ? worker.rewatch(descriptor, events, for: self) : worker.watch(descriptor, events, for: self)
        if isArmed { isWatched = true }
        armed = isArmed ? events : 0
        unarmed = isArmed ? 0 : events
        // Unheard, its transfer would wait for an event that never comes.
        if !isArmed, !isGone { wake(at: worker.nanoseconds &+ Self.retryNanoseconds) }
    }

    override func deadlineReached(_ nanoseconds: UInt64) {
        if unarmed != 0 { arm(connection == nil && wanted != 0 ? wanted : unarmed) }
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
            } else if events == 0, socket.isGone {
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
        socket.isClosing()
        worker.withdraw(socket)
        sockets[descriptor] = nil
    }
}
