// The error beneath a failure, with the seeds' domains and codes (ledger §K, §M), taken from the pipeline's failure table.
// Domain: pure

import CryoPipeline
public import Foundation

/// What the seeds tell by an `NSError` and its `userInfo`, as a value.
public struct CryoError: Error, LocalizedError, Sendable {
    /// `ClientError`, `AuthError`, `ServerError`, `HTTPError`, `BusinessError`, `URLError`, `NetworkError`, `DataError`,
    /// `CancellationError`, `RequestError` or `InterceptorError`.
    public let domain: String
    /// The number of the seeds: the status, the business code, or a negative one for what never was an answer.
    public let code: Int
    /// For people.
    public let message: String
    /// The HTTP status; nil when no answer came.
    public var statusCode: Int?
    /// The business code, where there is one.
    public var businessCode: Int?
    /// The server's body.
    public var responseData: Data?
    /// What lies beneath.
    public var underlyingError: (any Error)?
    /// Set where the kind is known and must not be inferred.
    var kind: CryoFailure.Kind?

    /// An error for interceptors of the program to return.
    public init(domain: String, code: Int, message: String, statusCode: Int? = nil, businessCode: Int? = nil, responseData: Data? = nil) {
        self.domain = domain
        self.code = code
        self.message = message
        self.statusCode = statusCode
        self.businessCode = businessCode
        self.responseData = responseData
    }

    /// The message.
    public var errorDescription: String? { message }
}

extension CryoError {
    /// Causes inside the library.
    enum LocalCause {
        case requestNotAdapted, emptyResponse, notJSON, notConvertible, modelNotDecoded, modelArrayNotDecoded, cancelled
    }

    init(_ cause: LocalCause, message: String? = nil, underlying: (any Error)? = nil) {
        switch cause {
        case .requestNotAdapted: self.init(domain: "RequestError", code: -1005, message: message ?? "请求适配失败")
        case .emptyResponse: self.init(domain: "DataError", code: -1004, message: "响应数据为空")
        case .notJSON: self.init(domain: "DataError", code: -1004, message: "JSON解析失败: \(message ?? "not JSON")")
        case .notConvertible: self.init(domain: "DataError", code: -1004, message: "数据转换失败")
        case .modelNotDecoded: self.init(domain: "DataError", code: -1004, message: "DataToModel失败: \(message ?? "")")
        case .modelArrayNotDecoded: self.init(domain: "DataError", code: -1004, message: "DataToModel数组失败: \(message ?? "")")
        case .cancelled: self.init(domain: "CancellationError", code: -1006, message: "请求已取消")
        }
        underlyingError = underlying
        if case .cancelled = cause { kind = .cancelled }
    }

    /// A status outside 200…299, by the table of the seeds.
    init(status: UInt16, body: Data?) {
        let failure = Failure(upstreamStatus: status, language: .chinese)
        self.init(
            domain: failure.domain.description, code: failure.code, message: String(decoding: failure.message, as: UTF8.self),
            statusCode: Int(status), responseData: body)
    }

    /// A row of the pipeline's failure table. `status` is the answer's, if one began to come.
    init(_ reason: FailureReason, status: UInt16?, detail: String? = nil) {
        let row = FailureTable.row(reason)
        switch row.reason {
        case .requestMalformed, .requestTooLarge, .routeNotFound, .hostDenied, .originDenied:
            // In the gateway a client's mistake with a status; in a program a request that could not be made.
            self.init(.requestNotAdapted, underlying: detail.map { PipelineDetail(text: $0) })
        default:
            self.init(
                domain: row.domain.description, code: row.code, message: row.chinese.description, statusCode: status.map { Int($0) })
            // With an answer the status decides first; without one, and for what the pipeline alone knows, the row does.
            kind = status == nil || status.map { 200..<300 ~= $0 } == true ? CryoFailure.Kind(rawValue: row.kind.rawValue) : nil
            underlyingError = PipelineDetail(text: detail ?? row.english.description)
        }
    }
}

/// The pipeline's own words for a cause.
struct PipelineDetail: Error, LocalizedError, CustomStringConvertible {
    let text: String
    var description: String { text }
    var errorDescription: String? { text }
}
