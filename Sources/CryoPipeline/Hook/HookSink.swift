// The port of the hooks: where an exchange says what happened, for whoever outside wants to know.
// Domain: shared

/// Called on workers: copies and returns at once, whatever becomes of it. Nothing of it comes back to the exchange.
package protocol HookSink: Sendable {
    /// Whether anybody wants the failures of exchanges with that token and policy. `isAuthentication`: the failure is about the token.
    func wantsFailure(token: String?, policy: String?, isAuthentication: Bool) -> Bool
    /// `body` is the failure JSON, without secrets.
    func failed(token: String?, policy: String?, isAuthentication: Bool, body: [UInt8])
    /// A code of the policy has ended the token's session.
    func sessionExpired(policy: String, token: String, revision: SessionRevision)
}
