// What the configuration says about the audit.
// Domain: pure

package struct AuditSettings: Sendable, Equatable {
    package enum Bodies: String, Sendable, CaseIterable { case off, failures, all }
    package var file: String
    package var bodies: Bodies = .failures
    package var bodyBytesMax: Int = 4096
    package var redaction = RedactionSettings()
    package var sink = AuditSinkSettings()

    package init(file: String) { self.file = file }
}

/// Names whose values are replaced, compared without case; live secrets are always replaced as well.
package struct RedactionSettings: Sendable, Equatable {
    package var headers = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token", "x-cryonet-key",
    ]
    package var json = [
        "password", "token", "access_token", "refresh_token", "refreshtoken", "accesstoken", "id_token", "client_secret", "secret",
        "api_key",
    ]
    package var query = ["token", "access_token", "refresh_token", "api_key", "apikey", "key", "password", "secret", "sig", "signature"]

    package init() {}
}
