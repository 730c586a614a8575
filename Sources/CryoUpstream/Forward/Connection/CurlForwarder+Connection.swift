// How connections of our own come out of libcurl: the handle goes into the multi, and its socket is handed over once it is connected.
// Domain: worker

import CCurl
import CryoIO

extension CurlForwarder {
    /// Has libcurl make the connection; `connected` follows. False when that has been told already.
    func connect(_ connection: UpstreamConnection) -> Bool {
        guard connection.isSound, addHandle(connection.easy) else {
            connection.connected(CURLE_FAILED_INIT)
            return false
        }
        noteConnecting(connection)
        return true
    }

    /// Takes the handle out of libcurl, which closes its connection. While libcurl runs it can't be taken out, nor may it go: later then.
    func disconnect(_ connection: UpstreamConnection) {
        forgetConnecting(connection)
        if isInLibcurl { return postpone(connection) }
        if connection.isAdded { removeHandle(connection.easy) }
        connection.isAdded = false
        sockets[connection.descriptor]?.letGo(of: connection)
    }

    /// The connection libcurl made: from now on its events are its owner's.
    func takeSocket(of easy: UnsafeMutableRawPointer?, for connection: UpstreamConnection) -> Int32? {
        var descriptor: curl_socket_t = -1
        guard cryo_easy_info_socket(easy, CURLINFO_ACTIVESOCKET, &descriptor) == CURLE_OK, let socket = sockets[descriptor] else {
            return nil
        }
        socket.handOver(to: connection)
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
