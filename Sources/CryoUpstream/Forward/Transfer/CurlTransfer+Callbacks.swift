// What libcurl calls while it works on a transfer. Each callback copies bytes, sets flags and returns.
// Domain: worker

import CCurl
import CryoHTTP
import CryoPipeline

extension CurlTransfer {
    func installCallbacks(_ options: inout EasyOptions) {
        // SAFETY: the transfer outlives its handle.
        let transfer = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_PRIVATE, pointer: transfer)
        options.set(CURLOPT_HEADERDATA, pointer: transfer)
        options.set(CURLOPT_WRITEDATA, pointer: transfer)
        options.set(CURLOPT_READDATA, pointer: transfer)
        options.set(CURLOPT_SEEKDATA, pointer: transfer)
        options.set(CURLOPT_PREREQDATA, pointer: transfer)
        options.set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let context else { return 0 }
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return CurlTransfer.from(context).takeHeaderLine(line) ? line.count : 0
        }
        options.set(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let context else { return 0 }
            return CurlTransfer.from(context).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        options.set(CURLOPT_READFUNCTION) { bytes, size, count, context in
            guard let context else { return CRYO_CURL_READ_ABORT }
            return CurlTransfer.from(context).giveBody(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        }
        let mayRewind = cryo_easy_seek_callback(easy) { context, offset, origin in
            guard let context, offset == 0, origin == 0 else { return CURL_SEEKFUNC_FAIL }
            return CurlTransfer.from(context).rewindBody() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        }
        options.note(mayRewind)
        let mayRefuse = cryo_easy_prereq_callback(easy) { context, _, _, _, _ in
            guard let context else { return CURL_PREREQFUNC_ABORT }
            return CurlTransfer.from(context).allowRequest() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        options.note(mayRefuse)
        forwarder.installSocketCallbacks(&options, easy)
    }

    // SAFETY: libcurl hands back the pointer it was given for this handle, and the transfer lives as long as its handle.
    static func from(_ context: UnsafeMutableRawPointer) -> CurlTransfer {
        Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    }

    private func takeHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        guard receiver != nil else { return false }
        hasHeadLine = true
        switch assembler.append(line) {
        case .more, .trailer, .informational: return true
        case .head:
            hasHead = true
            forwarder.touch(self)
            return true
        case .malformed:
            isMalformed = true
            return false
        }
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard receiver != nil else { return 0 }
        forwarder.touch(self)
        if received.count > 0, received.count + bytes.count > Self.receivedBytesMax {
            isReceivePaused = true
            return CRYO_CURL_WRITE_PAUSE
        }
        return received.append(bytes) ? bytes.count : 0
    }

    private func giveBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let receiver else { return CRYO_CURL_READ_ABORT }
        // Nothing more is sent, but the answer is still taken: libcurl goes on asking where the upstream said `Connection: close`.
        if uploadAbandoned {
            isSendPaused = true
            return CRYO_CURL_READ_PAUSE
        }
        var room = buffer
        if uploadLength >= 0 {
            let left = uploadLength - uploaded
            if left == 0 { return 0 }
            if left < Int64(buffer.count) { room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(left)]) }
        }
        switch receiver.readRequestBody(id, into: room) {
        case .bytes(let count) where count > 0:
            uploaded += Int64(count)
            uploadEnded = uploaded == uploadLength
            return count
        case .wait, .bytes:
            isSendPaused = true
            return CRYO_CURL_READ_PAUSE
        case .end where uploadLength < 0:
            uploadEnded = true
            return 0
        // The announced length cannot be reached any more; the upstream must not take the part for the whole.
        case .end, .failed:
            bodyFailed = true
            return CRYO_CURL_READ_ABORT
        }
    }

    /// libcurl wants to send the body again, since a pooled connection turned out dead.
    private func rewindBody() -> Bool {
        guard isIdempotent, requestsMade < 2 else {
            retryRefused = true
            return false
        }
        guard let receiver, receiver.rewindRequestBody(id) else {
            bodyFailed = true
            return false
        }
        uploaded = 0
        uploadEnded = false
        return true
    }

    /// libcurl repeats any request whose reused connection died before the first byte of an answer, up to five times. RFC 9110
    /// §9.2.2 allows that for idempotent methods only, and once is enough.
    private func allowRequest() -> Bool {
        requestsMade += 1
        if requestsMade == 1 || (requestsMade == 2 && isIdempotent) { return true }
        retryRefused = true
        return false
    }
}
