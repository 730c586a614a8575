// Which Host and Origin are our own (design §10): for the routes and for the admin side.
// Domain: pure

package import CryoHTTP

package enum SiteRule {
    /// HTTP/1.0 clients may send no Host; a browser always does, so nothing is lost by allowing it. `hosts` are lower case.
    package static func isOwnHost(_ authority: UnsafeRawBufferPointer, _ hosts: [[UInt8]]) -> Bool {
        if authority.isEmpty { return true }
        guard let parts = parseAuthority(authority) else { return false }
        let host = UnsafeRawBufferPointer(rebasing: authority[parts.host])
        return hosts.contains { own in own.withUnsafeBytes { equalsIgnoringCase(host, lowercased: $0) } }
    }

    /// `http://` or `https://` and then exactly the Host the request was sent to.
    package static func isSameOrigin(_ origin: UnsafeRawBufferPointer, host: UnsafeRawBufferPointer) -> Bool {
        let schemes: (StaticString, StaticString) = ("http://", "https://")
        for scheme in [schemes.0, schemes.1] where origin.count > scheme.utf8CodeUnitCount {
            let start = UnsafeRawBufferPointer(rebasing: origin[..<scheme.utf8CodeUnitCount])
            guard equalsIgnoringCase(start, lowercased: scheme.rawBytes) else { continue }
            let authority = UnsafeRawBufferPointer(rebasing: origin[scheme.utf8CodeUnitCount...])
            if !host.isEmpty, areEqualIgnoringCase(authority, host) { return true }
        }
        return false
    }

    /// What a browser says of a request that another site's page sent, also where it sends no Origin.
    package static func isCrossSite(_ fields: FieldSection) -> Bool {
        let crossSite: StaticString = "cross-site"
        return fields.withValue(of: "sec-fetch-site") { equalsIgnoringCase($0, lowercased: crossSite.rawBytes) } == true
    }
}
