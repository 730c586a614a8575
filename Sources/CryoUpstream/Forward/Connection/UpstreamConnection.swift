// A connection made by libcurl (CURLOPT_CONNECT_ONLY: names, TLS, certificates, pins) on which we speak HTTP/1.1 ourselves.
// Domain: worker

import CCurl
import CryoIO
import CryoPipeline
import Glibc

/// What tunnels and the connections of the lane have in common: the handle, the socket and what libcurl knows of both.
///
/// The handle stays in the multi, else libcurl would lose its connection. The socket is watched edge-triggered under its CurlSocket,
/// which passes the events on. TLS may hold bytes while the socket is not readable, so there everything is received until OpenSSL holds none
/// and the socket is known to be empty, or until libcurl says CURLE_AGAIN. Plain TCP is read and written without libcurl, which would look
/// its connection up at each call.
class UpstreamConnection: Endpoint {
    // SAFETY: the forwarder closes its connections before it goes.
    unowned(unsafe) let forwarder: CurlForwarder
    let easy: UnsafeMutableRawPointer?
    /// A pool for this connection alone. libcurl takes a connection that it has made for us to be idle, and before it makes another one it
    /// closes those of the pool that are old or have ended, before we have heard of it.
    private let pool: UnsafeMutableRawPointer?
    let isTLS: Bool
    /// libcurl has taken every option.
    let isSound: Bool
    var isAdded = false
    var isClosed = false
    /// -1 unless it is ours and open.
    private(set) var descriptor: Int32 = -1
    /// Of a TLS connection that has been read from; nil where OpenSSL does not tell.
    private var intake: TLSIntake?
    private var hasSoughtIntake = false

    init(_ profile: UpstreamProfile, forwarder: CurlForwarder) {
        self.forwarder = forwarder
        isTLS = profile.isTLS
        easy = curl_easy_init()
        pool = curl_share_init()
        var options = EasyOptions(easy)
        profile.configure(&options)
        // An upstream that speaks HTTP/2 must not be offered it: libcurl has no bytes to give then.
        options.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        options.set(CURLOPT_CONNECT_ONLY, 1)
        options.set(CURLOPT_FRESH_CONNECT, 1)
        if let pool, cryo_share_connections(pool) == CURLSHE_OK {
            options.set(CURLOPT_SHARE, pointer: pool)
        } else {
            options.note(CURLE_OUT_OF_MEMORY)
        }
        if isTLS, CurlGlobal.speaksOpenSSL {
            let readsAhead = cryo_easy_context_callback(easy) { _, context, _ in
                if let context { TLSIntake.readAhead(in: context) }
                return CURLE_OK
            }
            options.note(readsAhead)
        }
        forwarder.installSocketCallbacks(&options, easy)
        isSound = options.areSet
        super.init(worker: forwarder.worker)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_share_cleanup(pool)
    }

    /// libcurl has connected, or not. Called outside libcurl.
    func connected(_ result: CURLcode) {}

    /// From now on the events of the socket are ours. False when libcurl has none.
    func takeSocket() -> Bool {
        guard let taken = forwarder.takeSocket(of: easy, for: self) else { return false }
        descriptor = taken
        return true
    }

    /// libcurl closes the socket. Nothing is read from its number or written to it any more.
    func loseSocket() {
        descriptor = -1
        intake = nil
        hasSoughtIntake = true
    }

    // MARK: Bytes

    func read(into buffer: UnsafeMutableRawBufferPointer) -> SocketRead {
        guard isTLS else { return Socket.read(descriptor, into: buffer) }
        while true {
            var count = 0
            errno = 0
            switch curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count) {
            case CURLE_OK: return count > 0 ? .bytes(count) : .end
            case CURLE_AGAIN where wasInterrupted: continue
            case CURLE_AGAIN: return .wouldBlock
            default: return .failed(0)
            }
        }
    }

    /// After a read that gave `count` bytes of `asked`: the socket had no more. What comes later is announced by another event.
    func hasTakenAll(_ count: Int, of asked: Int) -> Bool {
        guard isTLS else { return count < asked }
        if !hasSoughtIntake {
            hasSoughtIntake = true
            intake = cryo_easy_ssl(easy).flatMap { TLSIntake($0) }
        }
        return intake?.hasTakenAll() ?? false
    }

    /// After `.wouldBlock` the same bytes must be given again, from the same place.
    func write(_ bytes: UnsafeRawBufferPointer) -> SocketWrite {
        guard isTLS else { return Socket.write(descriptor, bytes) }
        while true {
            var count = 0
            errno = 0
            switch curl_easy_send(easy, bytes.baseAddress, bytes.count, &count) {
            case CURLE_OK where count > 0: return .bytes(count)
            case CURLE_OK where wasInterrupted, CURLE_AGAIN where wasInterrupted: continue
            case CURLE_OK, CURLE_AGAIN: return .wouldBlock
            default: return .failed(0)
            }
        }
    }

    /// libcurl says CURLE_AGAIN for an interrupted call too, where no event of the socket follows.
    private var wasInterrupted: Bool { errno == EINTR }

    // MARK: What libcurl knows

    func connectError(_ result: CURLcode) -> ForwardError {
        var context = CurlOutcomeContext()
        context.takeConnection(of: easy)
        return ForwardError(result, context)
    }

    var connectTiming: AttemptTiming { AttemptTiming(connectionOf: easy) }
}
