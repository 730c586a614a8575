// Where a token goes in a request, what it looks like there, and how a value of the same name is found and taken out.
// Domain: pure

import CryoHTTP

package final class Injection: Sendable {
    let place: InjectSettings.Place
    let name: [UInt8]
    /// For headers, whose names have no case.
    let lowercasedName: [UInt8]
    private let format: [UInt8]
    private static let mark: StaticString = "{token}"

    package init(_ settings: InjectSettings) {
        place = settings.place
        name = Array(settings.name.utf8)
        lowercasedName = Array(settings.name.lowercased().utf8)
        format = Array(settings.format.utf8)
    }

    /// What stands for a token in a request: the value of the header, or `name=value` of a query or a cookie.
    package func value(of token: Secret) -> [UInt8] {
        let value = formatted(token)
        switch place {
        // An empty prefix leaves no space in front (ledger HD4).
        case .header: return Array(value.drop { $0 == 0x20 })
        case .query: return percentEncoded(name) + [0x3D] + percentEncoded(value)
        case .cookie: return name + [0x3D] + Self.cookieValue(value)
        }
    }

    /// The format with the token in the place of `{token}`.
    private func formatted(_ token: Secret) -> [UInt8] {
        var value: [UInt8] = []
        var index = 0
        while index < format.count {
            if format[index...].starts(with: Self.mark.rawBytes) {
                token.withBytes { value.append(contentsOf: $0) }
                index += Self.mark.utf8CodeUnitCount
            } else {
                value.append(format[index])
                index += 1
            }
        }
        return value
    }

    /// RFC 6265 §4.1.1: what a cookie's value can't hold is percent-encoded, as browsers' scripts do it.
    private static func cookieValue(_ value: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        for byte in value {
            let isOctet = byte > 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x2C && byte != 0x3B && byte != 0x5C
            if isOctet { encoded.append(byte) } else { appendPercentEncoded(byte, to: &encoded) }
        }
        return encoded
    }
}

// MARK: Queries

/// The pairs of a query, between its ampersands. Names are compared decoded, as the upstream will read them; all bytes of the
/// other pairs stay as they are.
enum QueryPairs {
    static func contains(_ name: [UInt8], in query: ArraySlice<UInt8>) -> Bool {
        pairs(query).contains { isNamed($0, name) }
    }

    static func removing(_ name: [UInt8], from query: ArraySlice<UInt8>) -> [UInt8] {
        joined(pairs(query).filter { !isNamed($0, name) })
    }

    /// Without the pairs that say the same as `secret`, however they are encoded; nil when there is none.
    static func removing(pair secret: [UInt8], from query: ArraySlice<UInt8>) -> [UInt8]? {
        let wanted = percentDecoded(secret, plusIsSpace: true)
        let all = pairs(query)
        let kept = all.filter { percentDecoded($0, plusIsSpace: true) != wanted }
        return kept.count == all.count ? nil : joined(kept)
    }

    private static func pairs(_ query: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        query.split(separator: 0x26, omittingEmptySubsequences: false)
    }

    private static func joined(_ pairs: [ArraySlice<UInt8>]) -> [UInt8] { Array(pairs.joined(separator: [0x26])) }

    private static func isNamed(_ pair: ArraySlice<UInt8>, _ name: [UInt8]) -> Bool {
        let written = pair.prefix { $0 != 0x3D }
        return written.elementsEqual(name) || percentDecoded(written, plusIsSpace: true) == name
    }
}

// MARK: Cookies

/// The pairs of Cookie values (RFC 6265 §4.2), which may come in several lines.
enum CookiePairs {
    static func contains(_ name: [UInt8], in value: [UInt8]) -> Bool { pairs(value).contains { isNamed($0, name) } }

    static func removing(_ name: [UInt8], from value: [UInt8]) -> [[UInt8]] {
        pairs(value).filter { !isNamed($0, name) }.map { Array($0) }
    }

    private static func pairs(_ value: [UInt8]) -> [ArraySlice<UInt8>] {
        value.split(separator: 0x3B).map { pair in
            var pair = pair
            while pair.first == 0x20 || pair.first == 0x09 { pair.removeFirst() }
            while pair.last == 0x20 || pair.last == 0x09 { pair.removeLast() }
            return pair
        }.filter { !$0.isEmpty }
    }

    private static func isNamed(_ pair: ArraySlice<UInt8>, _ name: [UInt8]) -> Bool {
        var written = pair.prefix { $0 != 0x3D }
        while written.last == 0x20 || written.last == 0x09 { written.removeLast() }
        return written.elementsEqual(name)
    }
}
