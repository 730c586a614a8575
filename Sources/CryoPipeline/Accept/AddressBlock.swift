// A block of IP addresses, or all peers of a UNIX socket: which proxies are believed (design §10).
// Domain: pure

package struct AddressBlock: Sendable, Equatable {
    /// IPv4 as its IPv6 form (RFC 4291 §2.5.5.2); nil: peers of a UNIX socket.
    private let network: UInt128?
    private let bits: Int

    /// `127.0.0.1`, `10.0.0.0/8`, `::1`, `fd00::/8` or `unix`; nil for anything else.
    package init?(_ text: String) {
        if text == "unix" {
            network = nil
            bits = 0
            return
        }
        let parts = text.utf8.split(separator: 0x2F, maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = Array(first).withUnsafeBytes(Self.parse) else { return nil }
        let isIPv4 = !first.contains(0x3A)
        var bits = 128
        if parts.count == 2 {
            let digits = parts[1]
            guard (1...3).contains(digits.count), digits.allSatisfy({ $0 &- 0x30 < 10 }), let number = Int(Substring(digits)),
                number <= (isIPv4 ? 32 : 128)
            else { return nil }
            bits = isIPv4 ? 96 + number : number
        }
        self.bits = bits
        network = Self.masked(address, bits)
    }

    /// Whether the peer with this address (as text, without port and brackets) belongs to the block.
    func contains(_ peer: UnsafeRawBufferPointer) -> Bool {
        guard let network else { return peer.count == 4 && peer.elementsEqual("unix".utf8) }
        guard let address = Self.parse(peer) else { return false }
        return Self.masked(address, bits) == network
    }

    private static func masked(_ address: UInt128, _ bits: Int) -> UInt128 { address & (UInt128.max << UInt128(128 - bits)) }

    // MARK: Text

    private static func parse(_ text: UnsafeRawBufferPointer) -> UInt128? {
        guard text.contains(0x3A) else { return ipv4(text).map { 0xFFFF_0000_0000 | UInt128($0) } }
        // The zone of a link-local peer is this machine's affair.
        let end = text.firstIndex(of: 0x25) ?? text.count
        return ipv6(UnsafeRawBufferPointer(rebasing: text[..<end]))
    }

    private static func ipv4(_ text: UnsafeRawBufferPointer) -> UInt32? {
        var value: UInt32 = 0
        let parts = text.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        for part in parts {
            guard (1...3).contains(part.count), part.count == 1 || part.first != 0x30 else { return nil }
            var number: UInt32 = 0
            for byte in part {
                guard byte &- 0x30 < 10 else { return nil }
                number = number * 10 + UInt32(byte - 0x30)
            }
            guard number < 256 else { return nil }
            value = value << 8 | number
        }
        return value
    }

    /// RFC 4291 §2.2, all three forms.
    private static func ipv6(_ text: UnsafeRawBufferPointer) -> UInt128? {
        var before: (value: UInt128, groups: Int) = (0, 0)
        var after: (value: UInt128, groups: Int) = (0, 0)
        var hasGap = false
        var index = 0
        func add(_ value: UInt128, groups: Int) {
            if hasGap {
                after = (after.value << UInt128(16 * groups) | value, after.groups + groups)
            } else {
                before = (before.value << UInt128(16 * groups) | value, before.groups + groups)
            }
        }
        while index < text.count {
            if text[index] == 0x3A {
                let isDouble = index + 1 < text.count && text[index + 1] == 0x3A
                if isDouble {
                    guard !hasGap else { return nil }
                    hasGap = true
                    index += 2
                    continue
                }
                // A single colon stands between two groups only.
                guard index > 0, index + 1 < text.count, text[index - 1] != 0x3A else { return nil }
                index += 1
                continue
            }
            let end = text[index...].firstIndex(of: 0x3A) ?? text.count
            let group = UnsafeRawBufferPointer(rebasing: text[index..<end])
            if group.contains(0x2E) {
                guard end == text.count, let value = ipv4(group) else { return nil }
                add(UInt128(value), groups: 2)
            } else {
                guard let value = hexadecimal(group) else { return nil }
                add(value, groups: 1)
            }
            guard before.groups + after.groups <= 8 else { return nil }
            index = end
        }
        let groups = before.groups + after.groups
        guard hasGap ? groups < 8 : groups == 8 else { return nil }
        return before.value << UInt128(16 * (8 - before.groups)) | after.value
    }

    private static func hexadecimal(_ group: UnsafeRawBufferPointer) -> UInt128? {
        guard (1...4).contains(group.count) else { return nil }
        var value: UInt128 = 0
        for byte in group {
            let lowered = byte | 0x20
            if byte &- 0x30 < 10 {
                value = value << 4 | UInt128(byte - 0x30)
            } else if lowered &- 0x61 < 6 {
                value = value << 4 | UInt128(lowered - 0x61 + 10)
            } else {
                return nil
            }
        }
        return value
    }
}
