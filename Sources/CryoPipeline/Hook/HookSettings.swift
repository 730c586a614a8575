// What the configuration says about one hook: who outside is told of what.
// Domain: pure

package struct HookSettings: Sendable {
    package enum Event: String, Sendable, CaseIterable {
        /// An exchange failed. A policy's hooks are told of every failure of its exchanges, a token's of those about the token.
        case failure
        /// A login ended: once for each, however many failures it caused.
        case sessionExpired = "session_expired"
    }

    package enum Target: Sendable {
        case webhook(Webhook)
        /// A program and its arguments; no shell.
        case command([String])
    }

    package struct Webhook: Sendable {
        package var url: String
        /// Signs what is sent; nil: it is not signed.
        package var secret: SecretReference?
        package var headers: [(name: String, value: String)] = []
        /// A file of PEM certificates to trust instead of the system's.
        package var caFile: String?

        package init(url: String) { self.url = url }
    }

    package var events: [Event] = Event.allCases
    package var target: Target
    package var timeoutMilliseconds: UInt32 = 5_000

    package init(target: Target) { self.target = target }
}
