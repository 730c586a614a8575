// Numbers records and ties each to the one before: `{…,"chain":{"seq":7,"hash":"…"}}`.
// Domain: cold (one queue or thread)
//
// The hash is SHA-256 over the 32 bytes of the previous record's hash and the record's text up to and without `,"hash":`. The first of a
// chain follows 32 zeros. So no record can be changed, left out, put in or moved without breaking the tie of another.

import CryoJSON

struct AuditChain {
    private(set) var head: ChainHead
    private let hasher: ChainHasher

    init(after head: ChainHead, hasher: ChainHasher) {
        self.head = head
        self.hasher = hasher
    }

    /// Appends `line`, a JSON object with at least one member and without a line end, sealed and with a line end.
    mutating func seal(_ line: UnsafeRawBufferPointer, into output: inout TextBuffer) {
        let start = output.count
        let sequence = head.sequence &+ 1
        output.append(UnsafeRawBufferPointer(rebasing: line.dropLast()))
        output.append(ChainMark.sequence)
        output.append(decimal: sequence)
        let hash = output.withBytes { hasher.hash(after: head.hash, UnsafeRawBufferPointer(rebasing: $0[start...])) }
        output.append(ChainMark.hash)
        hash.append(to: &output)
        output.append(ChainMark.end)
        output.append("\n")
        head = ChainHead(sequence: sequence, hash: hash)
    }

    /// Takes back what was sealed since: the disk did not take it.
    mutating func goBack(to head: ChainHead) { self.head = head }
}

enum ChainMark {
    static let sequence: StaticString = #","chain":{"seq":"#
    static let hash: StaticString = #","hash":""#
    static let end: StaticString = #""}}"#
}

/// The chain's part of a record, found from the end of its line.
struct ChainLine {
    let head: ChainHead
    /// How much of the line the hash is over, after the previous hash.
    let hashedCount: Int

    /// nil for a line that carries no chain, or not just as this program writes it.
    init?(_ line: UnsafeRawBufferPointer) {
        let hashEnd = line.count - ChainMark.end.utf8CodeUnitCount
        let hashStart = hashEnd - ChainHash.digits
        let markStart = hashStart - ChainMark.hash.utf8CodeUnitCount
        guard markStart > ChainMark.sequence.utf8CodeUnitCount, Self.isAt(hashEnd, ChainMark.end, line),
            Self.isAt(markStart, ChainMark.hash, line), let hash = ChainHash(UnsafeRawBufferPointer(rebasing: line[hashStart..<hashEnd]))
        else { return nil }
        var digitsStart = markStart
        while digitsStart > 0, line[digitsStart - 1] &- 0x30 < 10, markStart - digitsStart < 20 { digitsStart -= 1 }
        let start = digitsStart - ChainMark.sequence.utf8CodeUnitCount
        guard digitsStart < markStart, start > 0, Self.isAt(start, ChainMark.sequence, line) else { return nil }
        var sequence: UInt64 = 0
        for digit in line[digitsStart..<markStart] {
            let (tens, isTooLarge) = sequence.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeToo) = tens.addingReportingOverflow(UInt64(digit &- 0x30))
            if isTooLarge || isTooLargeToo { return nil }
            sequence = sum
        }
        head = ChainHead(sequence: sequence, hash: hash)
        hashedCount = markStart
    }

    private static func isAt(_ index: Int, _ text: StaticString, _ line: UnsafeRawBufferPointer) -> Bool {
        for offset in 0..<text.utf8CodeUnitCount where line[index + offset] != text.utf8Start[offset] { return false }
        return true
    }
}
