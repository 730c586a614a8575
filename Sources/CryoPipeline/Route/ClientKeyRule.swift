// Whether a request carries the key this gateway asks its clients for (design §10).
// Domain: pure

package import CryoHTTP

package enum ClientKeyRule {
    /// `X-CryoNet-Key: KEY`, or `Proxy-Authorization: Bearer KEY` (RFC 6750 §2.1) for clients that use a proxy setting. Every line of
    /// both is looked at, so that the time taken does not tell which one was right.
    static func carries(_ fields: FieldSection, _ key: Secret) -> Bool {
        var isFound = false
        for index in fields.lines.indices {
            if fields.has("x-cryonet-key", at: index) {
                if fields.withValue(at: index, key.matches) { isFound = true }
            } else if fields.has("proxy-authorization", at: index) {
                if fields.withValue(at: index, { isBearer($0, key) }) { isFound = true }
            }
        }
        return isFound
    }

    /// `Authorization: Bearer KEY`, for the admin side; every line is looked at.
    package static func authorizes(_ fields: FieldSection, _ key: Secret) -> Bool {
        var isFound = false
        for index in fields.indices(of: "authorization") {
            if fields.withValue(at: index, { isBearer($0, key) }) { isFound = true }
        }
        return isFound
    }

    private static func isBearer(_ value: UnsafeRawBufferPointer, _ key: Secret) -> Bool {
        let scheme: StaticString = "bearer "
        guard value.count > scheme.utf8CodeUnitCount,
            equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[..<scheme.utf8CodeUnitCount]), lowercased: scheme.rawBytes)
        else { return false }
        var start = scheme.utf8CodeUnitCount
        while start < value.count, value[start] == 0x20 { start += 1 }
        return key.matches(UnsafeRawBufferPointer(rebasing: value[start...]))
    }
}
