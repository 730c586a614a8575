// What the configuration says about one envelope policy (ledger §J).
// Domain: pure

package import CryoJSON

package struct PolicySettings: Sendable {
    package enum View: String, Sendable, CaseIterable { case complete, data, raw }
    /// What becomes of the member names of an unwrapped payload (ledger NA3).
    package enum Keys: String, Sendable, CaseIterable {
        case asIs = "as_is"
        case camelCase = "camel_case"
    }
    /// What is looked at of event streams and JSON lines.
    package enum Streams: String, Sendable, CaseIterable {
        case pass
        case firstEvent = "first_event"
    }
    package enum OddBody: String, Sendable, CaseIterable { case pass, fail }

    package var name: String
    /// nil: every 2xx that is JSON is a success (ledger BX1).
    package var success: SuccessPredicate?
    package var messagePaths: [JSONPath] = []
    package var codePath: JSONPath?
    package var dataPath: JSONPath?
    package var view: View = .complete
    package var keys: Keys = .asIs
    package var nonJSON: OddBody = .fail
    package var empty: OddBody = .pass
    package var oversize: OddBody = .pass
    package var streams: Streams = .pass
    /// Bodies up to this size are judged.
    package var bodyBytesMax: Int = 1_048_576
    package var failureStatus: UInt16 = 422
    package var failureMode: FailureMode = .replace
    package var failureFormat: FailureFormat = .problem
    /// Texts in the place of the table's, by the status the upstream sent.
    package var statusMessages: [UInt16: LocalizedText] = [:]
    package var reasonMessages: [FailureReason: LocalizedText] = [:]
    /// Where the bodies of non-2xx answers tell their message; empty: the table's texts (ledger NA5).
    package var errorMessagePaths: [JSONPath] = []
    /// The message of a 4xx whose body tells none; nil: the table's.
    package var errorMessageFallback: String?
    /// By business code; one that ends in `*` is for all that begin so, `*` alone for those that nothing else names.
    package var codes: [String: CodeRule] = [:]
    /// Business codes that end the session.
    package var sessionExpiredCodes: [String] = []
    package var hooks: [HookSettings] = []

    package init(name: String) { self.name = name }
}
