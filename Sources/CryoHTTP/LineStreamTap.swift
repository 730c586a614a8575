// Reads the lines of a newline-delimited JSON stream as they pass by (ledger SS4).
// Domain: pure

/// A parser that is fed whatever pieces arrive and says where records end: at LF, with a CR before it dropped. Lines that are empty are no
/// records. At most `recordBytesMax` of a record are kept.
package struct LineStreamTap: Sendable {
    /// What is kept of one record, unless less is wanted.
    package static let recordBytesMax = 64 * 1024

    private var record: [UInt8] = []
    private var recordBytes: UInt64 = 0

    /// Whole records so far.
    package private(set) var recordsCount: UInt64 = 0

    private let keptBytesMax: Int

    /// Who only counts records needs no more than two bytes of each: they tell whether a line is empty.
    package init(recordBytesMax: Int = Self.recordBytesMax) { keptBytesMax = recordBytesMax }

    /// Whether bytes of a record are there whose line has not ended. At the end of a stream they are a record all the same.
    package var isInRecord: Bool { recordBytes > 0 }

    /// Takes bytes up to the end of the next record. `record` is nil when all of them are consumed and none has ended.
    package mutating func next(_ bytes: UnsafeRawBufferPointer) -> (consumed: Int, record: (bytes: [UInt8], isCut: Bool)?) {
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            take(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            if end == bytes.count { break }
            start = end + 1
            if let record = finish() { return (start, record) }
        }
        return (bytes.count, nil)
    }

    /// The record whose line has not ended, at the end of the stream. nil: there is none.
    package mutating func finish() -> (bytes: [UInt8], isCut: Bool)? {
        let isCut = recordBytes > UInt64(keptBytesMax)
        if !isCut, record.last == 0x0D { record.removeLast() }
        defer {
            record = []
            recordBytes = 0
        }
        if record.isEmpty { return nil }
        recordsCount += 1
        return (record, isCut)
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer) {
        record.append(contentsOf: bytes.prefix(keptBytesMax - record.count))
        recordBytes += UInt64(bytes.count)
    }
}
