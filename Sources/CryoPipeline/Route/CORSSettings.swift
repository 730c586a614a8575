// What the configuration says about cross-site requests of browsers to one route, and its form for the data path.
// Domain: pure (settings) | shared (plan, immutable)

package struct CORSSettings: Sendable, Equatable {
    /// Browser origins that may use the route across sites; empty: none may.
    package var origins: [String] = []
    /// Empty: the route's methods, or `CORSPlan.commonMethods` where it names none.
    package var methods: [String] = []
    /// Request fields pages may send; empty: whatever a preflight asks for.
    package var headers: [String] = []
    /// Response fields pages may read besides `CryoNet-Failure` and `X-Request-Id`.
    package var exposedHeaders: [String] = []
    package var allowsCredentials = false
    package var maxAgeSeconds: UInt32 = 600

    package init() {}
}

/// The values of the Access-Control fields, made once.
final class CORSPlan: Sendable {
    /// Lower case.
    let origins: [[UInt8]]
    let methods: [UInt8]
    /// nil: whatever is asked for.
    let headers: [UInt8]?
    let exposedHeaders: [UInt8]
    let maxAge: [UInt8]
    let allowsCredentials: Bool

    static let commonMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// nil when no origin is listed: then there are no cross-site requests.
    init?(_ settings: CORSSettings, routeMethods: [String]) {
        guard !settings.origins.isEmpty else { return nil }
        func list(_ items: [String]) -> [UInt8] { Array(items.joined(separator: ", ").utf8) }
        origins = settings.origins.map { Array($0.lowercased().utf8) }
        methods = list(!settings.methods.isEmpty ? settings.methods : !routeMethods.isEmpty ? routeMethods : Self.commonMethods)
        headers = settings.headers.isEmpty ? nil : list(settings.headers)
        exposedHeaders = list(["CryoNet-Failure", "X-Request-Id"] + settings.exposedHeaders)
        maxAge = Array(String(settings.maxAgeSeconds).utf8)
        allowsCredentials = settings.allowsCredentials
    }
}
