// What came back, before anybody judged it.
// Domain: pure

import CryoPipeline
public import Foundation

/// An answer, a part of one, or none. What interceptors judge.
public struct CryoResponse: Sendable {
    /// The request it answers, as it was sent, the token left out.
    public let request: CryoRequest
    /// The HTTP status; nil when no answer came.
    public let statusCode: Int?
    /// The answer's header fields as the server sent them.
    public let headers: [HTTPHeader]
    /// The body without its content codings; what came of it when `error` is set. At most 64 MiB.
    public let data: Data
    /// Why the answer is missing or incomplete; nil for a complete one of any status.
    public let error: CryoError?
    /// How often the request was sent.
    public let attempts: Int

    /// A response, for testing interceptors.
    public init(
        request: CryoRequest, statusCode: Int?, headers: [HTTPHeader] = [], data: Data = Data(), error: CryoError? = nil, attempts: Int = 1
    ) {
        self.request = request
        self.statusCode = statusCode
        self.headers = headers
        self.data = data
        self.error = error
        self.attempts = attempts
    }

    /// The value of the first field of that name, compared without case.
    public func value(forHTTPHeaderField field: String) -> String? { headers.value(of: field) }
}

extension CryoResponse {
    /// The seeds' order up to the point where business begins: HTTP status, then network, then whether there is an answer at all.
    func checkedData() -> Result<Data, any Error> {
        if let statusCode, !(200..<300).contains(statusCode) {
            return .failure(CryoError(status: UInt16(clamping: statusCode), body: data.isEmpty ? nil : data))
        }
        if var error {
            error.statusCode = error.statusCode ?? statusCode
            if error.responseData == nil, !data.isEmpty { error.responseData = data }
            return .failure(error)
        }
        guard statusCode != nil else { return .failure(CryoError(.emptyResponse, status: nil)) }
        return .success(data)
    }

    /// Answers that have no body by definition (RFC 9110 §15.3.5, §15.3.6, §9.3.2).
    var hasNoBody: Bool { statusCode == 204 || statusCode == 205 || request.httpMethod == "HEAD" }
}
