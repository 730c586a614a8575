// What the tests of this target share: bytes from text, and drivers that feed a parser in pieces.
// Domain: cold

import CryoHTTP

/// Bytes of a text whose scalars are all below U+0100, one byte each: "\u{E9}" is the byte 0xE9.
func latin(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

func repeated(_ piece: String, _ count: Int) -> String { String(repeating: piece, count: count) }

enum Parsed: Equatable {
    case needsMore
    case head(consumed: Int)
    case refused(UInt16)
}

/// Parses the whole input with a fresh parser.
func parse(_ input: String, limits: HeadLimits = HeadLimits()) -> RequestParseResult {
    var parser = RequestParser(limits: limits)
    return latin(input).withUnsafeBytes { parser.parse($0) }
}

func outcome(_ input: String, limits: HeadLimits = HeadLimits()) -> Parsed { outcome(parse(input, limits: limits)) }

func outcome(_ result: RequestParseResult) -> Parsed {
    switch result {
    case .needsMore: .needsMore
    case .head(_, let consumed): .head(consumed: consumed)
    case .refused(let refusal): .refused(refusal.status)
    }
}

/// The head of an input that must parse.
func head(_ input: String) -> RequestHead? {
    if case .head(let head, _) = parse(input) { return head }
    return nil
}

/// A 1.1 request with a valid Host and these further lines (each with its CRLF).
func request(_ lines: String, method: String = "POST", target: String = "/t", version: String = "HTTP/1.1") -> String {
    "\(method) \(target) \(version)\r\nHost: a.test\r\n\(lines)\r\n"
}

struct Decoded: Equatable {
    var body: [UInt8] = []
    var rest: [UInt8] = []
    var isEnded = false
    var failure: String?
}

/// Decodes `pieces` one after the other, as a connection would.
func decode(_ pieces: [[UInt8]], with decoder: inout ChunkedDecoder) -> Decoded {
    var decoded = Decoded()
    for piece in pieces {
        var offset = 0
        decoding: while true {
            let isOver = piece.withUnsafeBytes { bytes in
                let input = UnsafeRawBufferPointer(rebasing: bytes[offset...])
                switch decoder.decode(input) {
                case .needsMore(let consumed):
                    offset += consumed
                    return true
                case .data(let range, let consumed):
                    decoded.body.append(contentsOf: input[range])
                    offset += consumed
                    return false
                case .end(let consumed):
                    decoded.isEnded = true
                    offset += consumed
                    decoded.rest.append(contentsOf: bytes[offset...])
                    return true
                case .malformed(let reason):
                    decoded.failure = "\(reason)"
                    return true
                }
            }
            if isOver { break decoding }
        }
        if decoded.failure != nil { break }
    }
    return decoded
}

func decode(_ input: String) -> Decoded {
    var decoder = ChunkedDecoder()
    return decode([latin(input)], with: &decoder)
}

/// A section with these `name: value` lines.
func section(_ lines: [(String, String)]) -> FieldSection {
    var fields = FieldSection()
    for (name, value) in lines { fields.append(name: latin(name), value: latin(value)) }
    return fields
}

/// The lines that are left, as `name: value`.
func lines(_ fields: FieldSection) -> [String] {
    fields.lines.filter { !$0.isRemoved }.map {
        String(decoding: fields.bytes[$0.name], as: UTF8.self) + ": " + String(decoding: fields.bytes[$0.value], as: UTF8.self)
    }
}
