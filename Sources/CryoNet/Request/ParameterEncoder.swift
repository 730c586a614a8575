// How the parameters of a request become a query, a form or JSON (ledger RC4).
// Domain: pure

import Foundation

/// How parameters are sent (source: seed README, `encoding: .urlDefault`). Keys are sent in sorted order. In queries and forms nested
/// values are written `a[b]=1`, elements of arrays `a[]=1`, booleans 1 and 0.
public enum ParameterEncoder: Sendable {
    /// A query for GET, HEAD and DELETE, else a form body.
    case urlDefault
    /// Always a query.
    case urlQueryString
    /// Always a form body.
    case urlHttpBody
    /// A JSON body, for every method.
    case jsonDefault
    /// A JSON body for people to read.
    case jsonPrettyPrinted
    /// The program's own encoding. What it throws fails the request, unsent.
    case custom(@Sendable (CryoRequest, [String: any Sendable]) throws -> CryoRequest)

    /// Adds the parameters to `request`. nil adds nothing.
    func encode(_ parameters: [String: any Sendable]?, into request: inout CryoRequest) throws {
        guard let parameters else { return }
        switch self {
        case .urlDefault:
            if ["GET", "HEAD", "DELETE"].contains(request.httpMethod) {
                try Self.addQuery(parameters, to: &request)
            } else {
                try Self.setForm(parameters, in: &request)
            }
        case .urlQueryString: try Self.addQuery(parameters, to: &request)
        case .urlHttpBody: try Self.setForm(parameters, in: &request)
        case .jsonDefault: try Self.setJSON(parameters, isPretty: false, in: &request)
        case .jsonPrettyPrinted: try Self.setJSON(parameters, isPretty: true, in: &request)
        case .custom(let encode): request = try encode(request, parameters)
        }
    }

    private static func addQuery(_ parameters: [String: any Sendable], to request: inout CryoRequest) throws {
        guard !parameters.isEmpty, let url = request.url, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return }
        let added = try ParameterValue(parameters).form()
        parts.percentEncodedQuery = [parts.percentEncodedQuery, added].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: "&")
        request.url = parts.url
    }

    private static func setForm(_ parameters: [String: any Sendable], in request: inout CryoRequest) throws {
        request.httpBody = Data(try ParameterValue(parameters).form().utf8)
        request.setValue("application/x-www-form-urlencoded; charset=utf-8", forHTTPHeaderField: "Content-Type")
    }

    private static func setJSON(_ parameters: [String: any Sendable], isPretty: Bool, in request: inout CryoRequest) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting =
            isPretty ? [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted] : [.sortedKeys, .withoutEscapingSlashes]
        request.httpBody = try encoder.encode(ParameterValue(parameters))
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    }
}

/// A parameter with its type found out.
indirect enum ParameterValue: Encodable {
    case null
    case bool(Bool)
    /// A number or other scalar that knows how to print and encode itself.
    case scalar(text: String, any Encodable)
    case array([ParameterValue])
    case object([String: ParameterValue])
    case encodable(any Encodable)

    init(_ value: Any) throws {
        switch value {
        case let value as any AnyOptional: self = try value.wrapped.map { try ParameterValue($0) } ?? .null
        case is NSNull: self = .null
        case let value as Bool: self = .bool(value)
        case let value as String: self = .scalar(text: value, value)
        case let value as any BinaryInteger & Encodable: self = .scalar(text: "\(value)", value)
        case let value as any BinaryFloatingPoint & Encodable: self = .scalar(text: "\(value)", value)
        case let value as [String: Any]: self = .object(try value.mapValues { try ParameterValue($0) })
        case let value as [Any]: self = .array(try value.map { try ParameterValue($0) })
        case let value as any Encodable: self = .encodable(value)
        default:
            throw CryoError(.requestNotAdapted, message: "参数无法编码: \(type(of: value))")
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value): try value.encode(to: encoder)
        case .scalar(_, let value), .encodable(let value): try value.encode(to: encoder)
        case .array(let values): try values.encode(to: encoder)
        case .object(let values): try values.encode(to: encoder)
        }
    }

    /// `application/x-www-form-urlencoded`, keys sorted.
    func form() throws -> String {
        guard case .object(let members) = self else { return "" }
        var pairs: [(String, String)] = []
        for key in members.keys.sorted() { try members[key]?.collect(under: key, into: &pairs) }
        return pairs.map { "\(PercentEncoding.encode($0))=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    }

    private func collect(under key: String, into pairs: inout [(String, String)]) throws {
        switch self {
        case .null: pairs.append((key, "null"))
        case .bool(let value): pairs.append((key, value ? "1" : "0"))
        case .scalar(let text, _): pairs.append((key, text))
        case .array(let values): for value in values { try value.collect(under: key + "[]", into: &pairs) }
        case .object(let members):
            for name in members.keys.sorted() { try members[name]?.collect(under: "\(key)[\(name)]", into: &pairs) }
        case .encodable(let value):
            throw CryoError(.requestNotAdapted, message: "参数无法编码: \(type(of: value))")
        }
    }
}

/// Opens an `Optional` that hides in an `Any`.
protocol AnyOptional {
    var wrapped: Any? { get }
}

extension Optional: AnyOptional {
    var wrapped: Any? { self.map { $0 as Any } }
}

enum PercentEncoding {
    /// Everything but unreserved characters (RFC 3986 §2.3).
    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte) {
                bytes.append(byte)
            } else {
                bytes.append(contentsOf: [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
