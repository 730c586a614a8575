// Writes the Prometheus text format 0.0.4: families with HELP and TYPE, samples with escaped labels.
// Domain: pure

struct MetricsText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String { case counter, gauge, histogram }

    private(set) var bytes: [UInt8] = []

    /// Begins a family. Its samples follow before the next family begins.
    mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        bytes.append(contentsOf: "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n".utf8)
    }

    mutating func sample(_ name: String, _ labels: [(name: String, value: String)], _ value: UInt64) {
        sample(name, labels, text: String(value))
    }

    mutating func sample(_ name: String, _ labels: [(name: String, value: String)], seconds microseconds: UInt64) {
        sample(name, labels, text: Self.seconds(microseconds))
    }

    private mutating func sample(_ name: String, _ labels: [(name: String, value: String)], text: String) {
        bytes.append(contentsOf: name.utf8)
        if !labels.isEmpty {
            bytes.append(0x7B)
            for (index, label) in labels.enumerated() {
                if index > 0 { bytes.append(0x2C) }
                bytes.append(contentsOf: "\(label.name)=\"".utf8)
                appendEscaped(label.value)
                bytes.append(0x22)
            }
            bytes.append(0x7D)
        }
        bytes.append(0x20)
        bytes.append(contentsOf: text.utf8)
        bytes.append(0x0A)
    }

    /// A label's value may hold anything but a bare backslash, quote or line feed.
    private mutating func appendEscaped(_ value: String) {
        for byte in value.utf8 {
            switch byte {
            case 0x5C: bytes += [0x5C, 0x5C]
            case 0x22: bytes += [0x5C, 0x22]
            case 0x0A: bytes += [0x5C, 0x6E]
            default: bytes.append(byte)
            }
        }
    }

    /// Cumulative buckets, sum and count. The count is that of the buckets, so that a scrape in the middle of a change is consistent.
    mutating func histogram(
        _ name: String, _ labels: [(name: String, value: String)], bounds: [UInt64], buckets: [UInt64], sumMicroseconds: UInt64
    ) {
        var total: UInt64 = 0
        for (index, count) in buckets.enumerated() {
            total += count
            let bound = index < bounds.count ? Self.seconds(bounds[index]) : "+Inf"
            sample("\(name)_bucket", labels + [(name: "le", value: bound)], total)
        }
        sample("\(name)_sum", labels, seconds: sumMicroseconds)
        sample("\(name)_count", labels, total)
    }

    /// Microseconds as decimal seconds, exactly.
    static func seconds(_ microseconds: UInt64) -> String {
        let fraction = String(microseconds % 1_000_000)
        var digits = String(repeating: "0", count: 6 - fraction.count) + fraction
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(microseconds / 1_000_000)" + (digits.isEmpty ? "" : ".\(digits)")
    }
}
