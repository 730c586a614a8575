// The one failure every request ends in when it does not succeed (ledger §L).
// Domain: pure

public import Foundation

/// Why a request failed; immutable, made for that failure alone (source: seed README, 统一失败模型).
public struct CryoFailure: Error, LocalizedError, Sendable {
    /// The category of a failure.
    public enum Kind: String, Sendable, CaseIterable {
        /// HTTP 401, after a refresh where one was possible.
        case authenticationExpired
        /// Any other status outside 200…299.
        case http
        /// The answer was a 2xx, but its envelope says failure.
        case business
        /// Timeout, connection, name or TLS.
        case network
        /// No JSON, or not of the wanted shape.
        case decoding
        /// The request was cancelled.
        case cancelled
        /// `intercept…` without an interceptor.
        case interceptorMissing
        /// Anything else, a request that could not be made among them.
        case unknown
    }

    /// The category.
    public let kind: Kind
    /// For people: the server's reason for a business failure, else the seeds' text.
    public let message: String
    /// The HTTP status; nil when no answer came.
    public let statusCode: Int?
    /// The business code the interceptor found.
    public let businessCode: Int?
    /// The revision of the login when the request was made; retries do not change it. nil without a session manager.
    public let authenticationRevision: UUID?
    /// The server's body as it came, content codings removed; nil when there is none.
    public let responseData: Data?
    /// What lies beneath; mostly a `CryoError` with the seeds' domain and code.
    public let underlyingError: (any Error)?

    /// A failure from its parts.
    public init(
        kind: Kind, message: String, statusCode: Int? = nil, businessCode: Int? = nil, authenticationRevision: UUID? = nil,
        responseData: Data? = nil, underlyingError: (any Error)? = nil
    ) {
        self.kind = kind
        self.message = message
        self.statusCode = statusCode
        self.businessCode = businessCode
        self.authenticationRevision = authenticationRevision
        self.responseData = responseData
        self.underlyingError = underlyingError
    }

    /// The message.
    public var errorDescription: String? { message }
}

extension CryoFailure {
    /// Infers the kind of any error in the order of the seeds (ledger CF3): status, then business, network, decoding, cancelled,
    /// interceptor. A failure that is one already keeps what it says and gets the revision it lacks (ledger AS5).
    init(_ error: any Error, response: CryoResponse?, revision: UUID?) {
        if let failure = error as? CryoFailure {
            self.init(
                kind: failure.kind, message: failure.message, statusCode: failure.statusCode, businessCode: failure.businessCode,
                authenticationRevision: failure.authenticationRevision ?? revision, responseData: failure.responseData,
                underlyingError: failure.underlyingError)
            return
        }
        let facts = ErrorFacts(error)
        let status = facts.statusCode ?? response?.statusCode
        let body = facts.responseData ?? response?.data
        self.init(
            kind: facts.kind ?? Self.kind(of: error, facts, status: status), message: facts.message, statusCode: status,
            businessCode: facts.businessCode, authenticationRevision: revision,
            responseData: body.flatMap { $0.isEmpty ? nil : $0 }, underlyingError: error)
    }

    private static func kind(of error: any Error, _ facts: ErrorFacts, status: Int?) -> Kind {
        if status == 401 { return .authenticationExpired }
        if let status, !(200..<300).contains(status) { return .http }
        if facts.businessCode != nil || facts.domain == "BusinessError" { return .business }
        switch facts.domain {
        case "URLError", "NetworkError", "NSURLErrorDomain": return .network
        case "DataError", "SerializationError": return .decoding
        case "CancellationError": return .cancelled
        case "InterceptorError": return .interceptorMissing
        default: break
        }
        if error is DecodingError { return .decoding }
        return error is CancellationError ? .cancelled : .unknown
    }
}

/// What can be read from an error of ours, of Foundation, or of the program.
private struct ErrorFacts {
    var kind: CryoFailure.Kind?
    var domain = ""
    var message: String
    var statusCode: Int?
    var businessCode: Int?
    var responseData: Data?

    init(_ error: any Error) {
        message = error.localizedDescription
        if let error = error as? CryoError {
            kind = error.kind
            domain = error.domain
            statusCode = error.statusCode
            businessCode = error.businessCode
            responseData = error.responseData
        } else {
            let error = error as NSError
            domain = error.domain
            statusCode = error.userInfo["statusCode"] as? Int
            businessCode = error.userInfo["businessCode"] as? Int
            responseData = error.userInfo["responseData"] as? Data ?? error.userInfo["originalData"] as? Data
        }
    }
}
