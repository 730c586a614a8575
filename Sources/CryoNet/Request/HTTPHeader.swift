// Names of methods and header fields.
// Domain: pure

/// One header field of a request or an answer.
public struct HTTPHeader: Sendable, Hashable {
    /// The name; compared without case where the library compares it.
    public var name: String
    /// The value. A request whose value holds a line break is refused, not sent.
    public var value: String

    /// A header field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension Array<HTTPHeader> {
    /// The value of the first field of that name, compared without case.
    func value(of name: String) -> String? {
        let name = name.lowercased()
        return first { $0.name.lowercased() == name }?.value
    }

    /// Sets a field: the first of that name gets the value, others of that name go, or it is appended.
    mutating func set(_ header: HTTPHeader) {
        let name = header.name.lowercased()
        guard let index = firstIndex(where: { $0.name.lowercased() == name }) else { return append(header) }
        self[index] = header
        let rest = self[(index + 1)...].filter { $0.name.lowercased() != name }
        replaceSubrange((index + 1)..., with: rest)
    }

    mutating func remove(_ name: String) {
        let name = name.lowercased()
        removeAll { $0.name.lowercased() == name }
    }
}

/// A request method; case matters (RFC 9110 §9.1).
public struct HTTPMethod: RawRepresentable, Sendable, Hashable {
    /// The method as it is sent.
    public let rawValue: String

    /// A method by name. A name that is no token (RFC 9110 §5.6.2) lets its request fail, unsent.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// `GET`
    public static let get = HTTPMethod(rawValue: "GET")
    /// `HEAD`
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// `POST`
    public static let post = HTTPMethod(rawValue: "POST")
    /// `PUT`
    public static let put = HTTPMethod(rawValue: "PUT")
    /// `PATCH`
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// `DELETE`
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// `OPTIONS`
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// `TRACE`
    public static let trace = HTTPMethod(rawValue: "TRACE")
}
