// What the configuration says about the audit.
// Domain: pure

package struct AuditSettings: Sendable, Equatable {
    package enum Bodies: String, Sendable, CaseIterable { case off, failures, all }
    /// What a record tells: nothing at all is written, or no more than the exchange itself, its headers, its headers and bodies.
    package enum Level: String, Sendable, CaseIterable { case off, basic, headers, bodies }
    package var file: String
    package var level: Level = .bodies
    /// At the level `bodies`, of which exchanges.
    package var bodies: Bodies = .failures
    package var bodyBytesMax: Int = 4096
    package var redaction = RedactionSettings()
    package var sink = AuditSinkSettings()

    package init(file: String) { self.file = file }
}

/// What an exchange asks of the settings, without a reference in it: the settings themselves cost a dozen of counts each time they are read.
struct AuditRules: Sendable {
    let level: AuditSettings.Level
    let bodies: AuditSettings.Bodies
    let bodyBytesMax: Int
    let onFull: AuditSinkSettings.Full
    let patienceMilliseconds: UInt32

    init(_ settings: AuditSettings) {
        level = settings.level
        bodies = settings.bodies
        bodyBytesMax = settings.bodyBytesMax
        onFull = settings.sink.onFull
        patienceMilliseconds = settings.sink.blockMilliseconds
    }

    var keepsBodies: Bool { level == .bodies && bodies != .off }
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

    /// Fields of forms, besides those of `json` and `query`.
    package var form: [String] = []
    /// Cookies; with none named, Cookie and Set-Cookie are hidden whole.
    package var cookies: [String] = []
    /// Values get the same mark each time they turn up, made with a key, instead of `***`.
    package enum Mode: String, Sendable, CaseIterable { case mask, hmac }
    package var mode: Mode = .mask
    /// Of `hmac`: 32 random bytes, made (0600) when there is no such file.
    package var keyFile: String?

    package init() {}
}
