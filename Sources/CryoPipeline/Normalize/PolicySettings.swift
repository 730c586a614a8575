// What the configuration says about one envelope policy (ledger §J).
// Domain: pure

package import CryoJSON

/// `field equals value`, with the answer for a body that has no such field.
package struct SuccessRule: Sendable {
    package enum Missing: String, Sendable, CaseIterable { case success, failure }
    package var path: JSONPath
    package var equals: JSONScalar
    package var missing: Missing
    /// Off: `"0"` equals `0` (the seeds' coercion).
    package var isStrict: Bool

    package init(path: JSONPath, equals: JSONScalar, missing: Missing = .success, isStrict: Bool = false) {
        self.path = path
        self.equals = equals
        self.missing = missing
        self.isStrict = isStrict
    }
}

package struct PolicySettings: Sendable {
    package enum View: String, Sendable, CaseIterable { case complete, data, raw }
    package enum OddBody: String, Sendable, CaseIterable { case pass, fail }

    package var name: String
    package var success: SuccessRule?
    package var messagePaths: [JSONPath] = []
    package var codePath: JSONPath?
    package var dataPath: JSONPath?
    package var view: View = .complete
    package var nonJSON: OddBody = .fail
    package var empty: OddBody = .pass
    package var oversize: OddBody = .pass
    /// Bodies up to this size are judged.
    package var bodyBytesMax: Int = 1_048_576
    package var failureStatus: UInt16 = 422
    /// Where the bodies of non-2xx answers tell their message; empty: the table's texts (ledger NA5).
    package var errorMessagePaths: [JSONPath] = []
    /// The message of a 4xx whose body tells none; nil: the table's.
    package var errorMessageFallback: String?
    /// Business code → HTTP status.
    package var codes: [String: UInt16] = [:]
    /// Business codes that end the session.
    package var sessionExpiredCodes: [String] = []
    package var hooks: [HookSettings] = []

    package init(name: String) { self.name = name }
}
