// Step reply: answers that are streams. Their bytes go to the client first; then they are looked at, to be counted.
// Domain: worker

import CryoHTTP

extension Exchange {
    /// Before the head of an answer goes out that is passed on as it comes.
    func openStream(_ response: ResponseHead) {
        guard mediaType.isStream, 200..<300 ~= response.status, !isHead, !isTunnel, responseFraming != .none else { return }
        stream = StreamRelay(mediaType, coding: contentCoding(response.fields))
        countStream(.opened)
    }

    /// Empty for none, and for `identity`, which is none (RFC 9110 §12.5.3).
    private func contentCoding(_ fields: FieldSection) -> [UInt8] {
        let identity: StaticString = "identity"
        return fields.withValue(of: "content-encoding") { coding in
            equalsIgnoringCase(coding, lowercased: identity.rawBytes) ? [] : Array(coding)
        } ?? []
    }

    /// Passes bytes on at once, then looks at them.
    func relay(_ bytes: UnsafeRawBufferPointer, through stream: StreamRelay) -> Flow {
        bytesSent += UInt64(bytes.count)
        let flow = context.sink.sendBody(bytes)
        countStream(.events, stream.watch(bytes, at: now))
        return flow
    }

    /// The upstream has ended the stream as it should.
    func endStream(_ stream: StreamRelay) { countStream(.events, stream.end(at: now)) }

    /// Once for each stream, however it ended.
    func closeStream() {
        if stream != nil { countStream(.closed) }
    }

    private func countStream(_ count: StreamCount, _ amount: UInt64 = 1) {
        if amount > 0 { match?.route.statistics?.streams.add(amount, to: count.rawValue, worker: context.workerIndex) }
    }
}
