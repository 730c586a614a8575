// Reads a control record of the audit, as this program writes it.
// Domain: cold

import CryoJSON

struct ControlLine {
    let word: String
    private let line: UnsafeRawBufferPointer

    /// nil for a record of an exchange. The bytes must live as long as this does.
    init?(_ line: UnsafeRawBufferPointer) {
        let prefix = AuditControl.prefix
        guard line.count > prefix.count, line.prefix(prefix.count).elementsEqual(prefix) else { return nil }
        let rest = line[prefix.count...].prefix { $0 != 0x22 }
        word = String(decoding: rest, as: UTF8.self)
        self.line = line
    }

    var previous: ChainHead? { head("\"previous\":{\"seq\":", "\"hash\":\"") }
    var covered: ChainHead? { head("\"count\":", "\"head\":\"") }
    var signature: [UInt8]? { text(after: "\"signature\":\"").flatMap { Hexadecimal.bytes($0) } }
    var key: [UInt8]? { text(after: "\"key\":\"").flatMap { Hexadecimal.bytes($0) } }
    var tornBytes: UInt64? { number(after: "\"torn_bytes\":") }
    var lostRecords: UInt64? { number(after: "\"records\":") }

    private func head(_ sequenceKey: StaticString, _ hashKey: StaticString) -> ChainHead? {
        guard let sequence = number(after: sequenceKey), let digits = text(after: hashKey) else { return nil }
        return ChainHash(UnsafeRawBufferPointer(rebasing: digits)).map { ChainHead(sequence: sequence, hash: $0) }
    }

    private func number(after key: StaticString) -> UInt64? {
        guard let start = end(of: key) else { return nil }
        return UInt64(String(decoding: line[start...].prefix { $0 &- 0x30 < 10 }, as: UTF8.self))
    }

    private func text(after key: StaticString) -> Slice<UnsafeRawBufferPointer>? {
        end(of: key).map { line[$0...].prefix { $0 != 0x22 } }
    }

    private func end(of key: StaticString) -> Int? { line.end(ofFirst: key) }
}

extension UnsafeRawBufferPointer {
    /// Behind the first place where the text stands, among the first bytes where a bound is given.
    func end(ofFirst text: StaticString, within bound: Int = .max) -> Int? {
        text.withUTF8Buffer { text in
            let last = Swift.min(count, bound) - text.count
            guard last >= 0 else { return nil }
            for start in 0...last where self[start] == text[0] && self[start..<start + text.count].elementsEqual(text) {
                return start + text.count
            }
            return nil
        }
    }
}
