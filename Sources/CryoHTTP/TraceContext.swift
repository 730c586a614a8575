// Owns the W3C trace context: reads and writes `traceparent` (https://www.w3.org/TR/trace-context/).
// Domain: pure

package struct TraceContext: Sendable, Equatable {
    /// 32 hexadecimal digits in lower case.
    package var traceID: [UInt8]
    /// 16 of them: who called.
    package var parentID: [UInt8]
    /// 2 of them; the lowest bit says that the trace is recorded.
    package var flags: [UInt8]

    package init(traceID: [UInt8], parentID: [UInt8], flags: [UInt8]) {
        self.traceID = traceID
        self.parentID = parentID
        self.flags = flags
    }

    /// nil for what a receiver has to treat as absent (§2.2.2): other lengths, capitals, zeros only, version ff. Of a later version the
    /// members that this one knows are taken (§2.2.5).
    package init?(_ value: UnsafeRawBufferPointer) {
        guard value.count >= Self.length, value[2] == Self.dash, value[35] == Self.dash, value[52] == Self.dash else { return nil }
        func digits(_ range: Range<Int>) -> [UInt8]? {
            let part = Array(value[range])
            return part.allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 } ? part : nil
        }
        guard let version = digits(0..<2), version != [0x66, 0x66], let traceID = digits(3..<35), let parentID = digits(36..<52),
            let flags = digits(53..<55), traceID.contains(where: { $0 != 0x30 }), parentID.contains(where: { $0 != 0x30 })
        else { return nil }
        let isKnown = version == [0x30, 0x30]
        guard value.count == Self.length || (!isKnown && value[Self.length] == Self.dash) else { return nil }
        self.init(traceID: traceID, parentID: parentID, flags: flags)
    }

    /// Of version 00, whatever version it was read from.
    package var bytes: [UInt8] { [0x30, 0x30, Self.dash] + traceID + [Self.dash] + parentID + [Self.dash] + flags }

    private static let length = 55
    private static let dash: UInt8 = 0x2D
}
