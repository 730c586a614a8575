// What the configuration says about the login and refresh calls of an API of its own kind.
// Domain: pure

package import CryoJSON

/// A first login and a refresh by configurable JSON or form calls whose answers may be envelopes. One of the two may be missing.
package struct LoginSettings: Sendable {
    /// What an answer is searched for besides the fields of `success`: the four of `TokenFields` and the code.
    package static let otherPathsMax = 5

    /// Gets the first token, and a new one when the refresh is refused; nil: only `initial` and the admin side log in.
    package var signIn: LoginCall?
    /// Gets a new token from what is there; nil: the first login is repeated.
    package var refresh: LoginCall?
    /// nil: every 2xx answer that holds a token is a success.
    package var success: SuccessPredicate?
    /// Where a failure's code is; nil: there is none to look at.
    package var codePath: JSONPath?
    /// Failure codes that end the session; empty: all but the transient ones.
    package var refusalCodes: [String] = []
    /// Failure codes that may pass: busy, maintenance, too many requests.
    package var transientCodes: [String] = []
    /// Statuses that refuse for good, unless the body has a transient code.
    package var refusalStatuses: [UInt16] = [400, 401, 403]
    package var caFile: String?

    package init(signIn: LoginCall? = nil, refresh: LoginCall? = nil) {
        self.signIn = signIn
        self.refresh = refresh
    }

    package var references: [SecretReference] {
        [signIn, refresh].compactMap(\.self).flatMap { $0.call.texts }.flatMap { TemplateText($0).references }
    }
}

/// A call and where its answer has what.
package struct LoginCall: Sendable {
    package var call: TokenCall
    package var fields: TokenFields

    package init(_ call: TokenCall, fields: TokenFields) {
        self.call = call
        self.fields = fields
    }
}

package struct TokenFields: Sendable {
    package var token: JSONPath
    package var refreshToken: JSONPath?
    /// Seconds of life from now, as number or numeric string.
    package var expiresIn: JSONPath?
    /// The end of life: seconds or milliseconds since 1970, or RFC 3339 text.
    package var expiresAt: JSONPath?

    package init(token: JSONPath) { self.token = token }
}

/// One HTTP call of a token source. Its texts are templates (`TemplateText`).
package struct TokenCall: Sendable {
    package enum Body: Sendable {
        case none
        /// A JSON text whose string values may hold placeholders.
        case json(TemplateNode)
        case form([(name: String, value: String)])
    }
    /// A JSON value as the configuration wrote it.
    package enum TemplateNode: Sendable {
        case object([(key: String, value: TemplateNode)])
        case array([TemplateNode])
        case string(String)
        /// Number, true, false or null, as written.
        case literal(String)

        var texts: [String] {
            switch self {
            case .object(let members): members.flatMap { $0.value.texts }
            case .array(let items): items.flatMap(\.texts)
            case .string(let text): [text]
            case .literal: []
            }
        }
    }
    package var method: String = "POST"
    package var url: String
    package var headers: [(name: String, value: String)] = []
    package var body: Body = .none

    package init(url: String) { self.url = url }

    /// Every text that may hold placeholders.
    package var texts: [String] {
        let bodyTexts: [String] =
            switch body {
            case .none: []
            case .json(let node): node.texts
            case .form(let pairs): pairs.map(\.value)
            }
        return [url] + headers.map(\.value) + bodyTexts
    }
}
