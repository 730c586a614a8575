// What the configuration says about a Redis that keeps one token for several gateways.
// Domain: pure

package struct RedisStoreSettings: Sendable {
    package enum Address: Sendable, Equatable, CustomStringConvertible {
        case tcp(host: String, port: UInt16)
        case unix(path: String)

        package var description: String {
            switch self {
            case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .unix(let path): "unix:\(path)"
            }
        }
    }

    package static let standardPort: UInt16 = 6379

    package var address: Address
    package var username: String?
    package var password: SecretReference?
    package var database = 0
    /// Gateways that name the same key share one login.
    package var key: String
    /// A gateway that dies while it refreshes holds the others up for this long.
    package var leaseMilliseconds: UInt32 = 5000
    /// Of connecting, and of each answer.
    package var timeoutMilliseconds: UInt32 = 1000

    package init(address: Address, key: String) {
        self.address = address
        self.key = key
    }
}
