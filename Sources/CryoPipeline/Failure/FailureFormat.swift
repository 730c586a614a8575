// The shapes a failure may be sent in, and the media type the client's Accept leaves (RFC 9110 §12.5.1).
// Domain: pure

import CryoHTTP

package enum FailureFormat: String, Sendable, CaseIterable {
    /// The members of design §6.
    case problem
    /// `{"message":"…"}`: what the seeds' `failed(String)` gets (ledger CF11).
    case message

    func contentType(_ fields: FieldSection?) -> StaticString {
        switch self {
        case .message: "application/json"
        case .problem: (fields.map(Self.takesPlainJSONOnly) ?? false) ? "application/json" : "application/problem+json"
        }
    }

    /// Accept names `application/json` and leaves no room for `application/problem+json`.
    private static func takesPlainJSONOnly(_ fields: FieldSection) -> Bool {
        var takesJSON = false
        var takesProblem = false
        var refusesProblem = false
        var index = fields.firstIndex(of: "accept")
        while let at = index {
            fields.withValue(at: at) { value in
                forEachListElement(value) { element in
                    let isWanted = MessageLanguage.quality(of: element) > 0
                    let end = element.firstIndex { $0 == 0x3B || $0 == 0x20 || $0 == 0x09 } ?? element.count
                    let range = UnsafeRawBufferPointer(rebasing: element[..<end])
                    if isRange(range, "application/json") { takesJSON = takesJSON || isWanted }
                    if isRange(range, "application/problem+json") {
                        takesProblem = takesProblem || isWanted
                        refusesProblem = refusesProblem || !isWanted
                    }
                    if isWanted, isRange(range, "application/*") || isRange(range, "*/*") { takesProblem = true }
                }
            }
            index = fields.firstIndex(of: "accept", from: at + 1)
        }
        return takesJSON && (refusesProblem || !takesProblem)
    }

    private static func isRange(_ range: UnsafeRawBufferPointer, _ wanted: StaticString) -> Bool {
        equalsIgnoringCase(range, lowercased: wanted.rawBytes)
    }
}

/// What becomes of an upstream's answer that is a failure.
package enum FailureMode: String, Sendable, CaseIterable {
    /// The failure JSON in its place.
    case replace
    /// Its own status and body, with the failure's headers.
    case annotate
}
