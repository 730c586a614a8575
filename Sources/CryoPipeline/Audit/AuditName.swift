// What every record of a route says of it, made once: `,"route":"news","policy":null,"upstream":"api"`.
// Domain: pure

import CryoJSON

enum AuditName {
    static func members(route: String?, policy: String?, upstream: String?) -> [UInt8] {
        var writer = JSONWriter()
        // A member that is not the first.
        writer.text("")
        func append(_ key: StaticString, _ name: String?) { if let name { writer.field(key, name) } else { writer.nullField(key) } }
        append("route", route)
        append("policy", policy)
        append("upstream", upstream)
        return writer.bytes
    }
}
