// What a program says about one of its requests, once, apart from the parameters of each call.
// Domain: pure

public import Foundation

/// One kind of request (source: seed README, 定义请求).
public struct RequestModel: Sendable {
    /// Appended to the configuration's `baseURL`, or the whole URL where `applyBasicURL` is false.
    public var path: String
    /// Whether `baseURL` is put in front of `path`.
    public var applyBasicURL: Bool
    /// The method; POST by default, as in the seeds.
    public var method: HTTPMethod
    /// How parameters are sent.
    public var encoding: ParameterEncoder
    /// Seconds without progress until the request fails; 0 (the default) takes the configuration's `defaultTimeout`.
    public var overtime: TimeInterval
    /// For people: what the request is for. Not sent.
    public var explain: String

    /// A request's description.
    public init(
        path: String, applyBasicURL: Bool = true, method: HTTPMethod = .post, encoding: ParameterEncoder = .jsonDefault,
        overtime: TimeInterval = 0, explain: String = ""
    ) {
        self.path = path
        self.applyBasicURL = applyBasicURL
        self.method = method
        self.encoding = encoding
        self.overtime = overtime
        self.explain = explain
    }
}

/// A request as it is about to be sent, the token left out. What `handleFailure` and interceptors see; named after the members of
/// `URLRequest`, whose module has no place here because it brings a second HTTP stack into the process.
public struct CryoRequest: Sendable {
    /// nil when the text of it is no URL; such a request fails unsent.
    public var url: URL?
    /// The method as it is sent.
    public var httpMethod: String
    /// The header fields in the order they are sent.
    public var headers: [HTTPHeader]
    /// The body; nil sends none.
    public var httpBody: Data?
    /// Seconds without progress until the request fails.
    public var timeoutInterval: TimeInterval

    /// A request; interceptors rarely make one, they change the one they get.
    public init(
        url: URL?, httpMethod: String = "GET", headers: [HTTPHeader] = [], httpBody: Data? = nil, timeoutInterval: TimeInterval = 30
    ) {
        self.url = url
        self.httpMethod = httpMethod
        self.headers = headers
        self.httpBody = httpBody
        self.timeoutInterval = timeoutInterval
    }

    /// The value of the first field of that name, compared without case.
    public func value(forHTTPHeaderField field: String) -> String? { headers.value(of: field) }

    /// Sets a field, replacing those of that name; nil removes them.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
        if let value { headers.set(HTTPHeader(name: field, value: value)) } else { headers.remove(field) }
    }
}
