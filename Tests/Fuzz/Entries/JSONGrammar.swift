// The grammar of RFC 8259, written down once more without regard to speed: the scanner is compared with it.
// Domain: pure

struct JSONGrammar {
    private let bytes: [UInt8]
    private var at = 0
    private var open = 0
    /// The most containers that were open at once, as far as the text was read.
    private(set) var depth = 0
    private var verdict: Bool?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// One value, white space around it, UTF-8 throughout.
    var isJSON: Bool {
        mutating get {
            if let verdict { return verdict }
            skipSpace()
            let isWhole =
                value()
                && {
                    skipSpace(); return at == bytes.count
                }()
            let isValid = isWhole && String(validating: bytes, as: UTF8.self) != nil
            verdict = isValid
            return isValid
        }
    }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { at += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        at += 1
        return true
    }

    private mutating func take(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { expected in
            guard bytes.count - at >= expected.count, bytes[at..<at + expected.count].elementsEqual(expected) else { return false }
            at += expected.count
            return true
        }
    }

    private mutating func value() -> Bool {
        switch next {
        case UInt8(ascii: "{"): return container(UInt8(ascii: "}")) { grammar in grammar.member() }
        case UInt8(ascii: "["): return container(UInt8(ascii: "]")) { grammar in grammar.value() }
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return take("true")
        case UInt8(ascii: "f"): return take("false")
        case UInt8(ascii: "n"): return take("null")
        default: return number()
        }
    }

    private mutating func container(_ end: UInt8, _ element: (inout JSONGrammar) -> Bool) -> Bool {
        at += 1
        open += 1
        depth = max(depth, open)
        // Deeper than any input needs; the scanner has its own bound, which is compared through `depth`.
        guard open < 4096 else { return false }
        defer { open -= 1 }
        skipSpace()
        if take(end) { return true }
        while true {
            guard element(&self) else { return false }
            skipSpace()
            if take(end) { return true }
            guard take(UInt8(ascii: ",")) else { return false }
            skipSpace()
        }
    }

    private mutating func member() -> Bool {
        guard string() else { return false }
        skipSpace()
        guard take(UInt8(ascii: ":")) else { return false }
        skipSpace()
        return value()
    }

    private mutating func string() -> Bool {
        guard take(UInt8(ascii: "\"")) else { return false }
        while let byte = next {
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"):
                guard escape() else { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard let letter = next else { return false }
        at += 1
        if "\"\\/bfnrt".utf8.contains(letter) { return true }
        guard letter == UInt8(ascii: "u") else { return false }
        for _ in 0..<4 {
            guard let digit = next, "0123456789abcdefABCDEF".utf8.contains(digit) else { return false }
            at += 1
        }
        return true
    }

    private mutating func digits() -> Int {
        let start = at
        while let byte = next, byte >= 0x30, byte <= 0x39 { at += 1 }
        return at - start
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")), digits() == 0 { return false }
        if take(UInt8(ascii: ".")), digits() == 0 { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            if digits() == 0 { return false }
        }
        return true
    }
}
