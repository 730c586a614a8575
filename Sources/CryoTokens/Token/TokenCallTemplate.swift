// Fills `{token}` and `{refresh_token}` into a configured call, escaped as the place they stand in demands.
// Domain: pure

import CryoJSON
import CryoPipeline

struct TokenCallTemplate {
    private let call: TokenCall
    private static let tokenMark = Array("{token}".utf8)
    private static let refreshTokenMark = Array("{refresh_token}".utf8)

    init(_ call: TokenCall) { self.call = call }

    var usesToken: Bool { texts.contains { Self.holds(Self.tokenMark, $0) } }
    var usesRefreshToken: Bool { texts.contains { Self.holds(Self.refreshTokenMark, $0) } }

    func filled(token: Secret?, refreshToken: Secret?) -> EndpointRequest {
        let values = Values(token: token, refreshToken: refreshToken)
        let url = Self.replace(in: call.url, values) { FormEncoding.append($0, to: &$1, spaceAsPlus: false) }
        var headers = call.headers.map { header in
            (
                name: header.name,
                value: String(decoding: Self.replace(in: header.value, values) { $1.append(contentsOf: $0) }, as: UTF8.self)
            )
        }
        func setIfAbsent(_ name: String, _ value: String) {
            if !headers.contains(where: { $0.name.lowercased() == name.lowercased() }) { headers.append((name: name, value: value)) }
        }
        var body: [UInt8] = []
        switch call.body {
        case .none: break
        case .json(let node):
            var writer = JSONWriter()
            Self.write(node, values, to: &writer)
            body = writer.bytes
            setIfAbsent("Content-Type", "application/json")
        case .form(let pairs):
            for pair in pairs {
                FormEncoding.appendPair(pair.name, Self.replace(in: pair.value, values) { $1.append(contentsOf: $0) }, to: &body)
            }
            setIfAbsent("Content-Type", "application/x-www-form-urlencoded")
        }
        setIfAbsent("Accept", "application/json")
        return EndpointRequest(method: call.method, url: String(decoding: url, as: UTF8.self), headers: headers, body: body)
    }

    // MARK: Parts

    private struct Values {
        var token: Secret?
        var refreshToken: Secret?
    }

    private var texts: [String] {
        var texts = [call.url] + call.headers.map(\.value)
        switch call.body {
        case .none: break
        case .json(let node): Self.collect(node, into: &texts)
        case .form(let pairs): texts += pairs.map(\.value)
        }
        return texts
    }

    private static func collect(_ node: TokenCall.TemplateNode, into texts: inout [String]) {
        switch node {
        case .object(let members): for member in members { collect(member.value, into: &texts) }
        case .array(let items): for item in items { collect(item, into: &texts) }
        case .string(let text): texts.append(text)
        case .literal: break
        }
    }

    private static func write(_ node: TokenCall.TemplateNode, _ values: Values, to writer: inout JSONWriter) {
        switch node {
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.key)
                write(member.value, values, to: &writer)
            }
            writer.endObject()
        case .array(let items):
            writer.beginArray()
            for item in items { write(item, values, to: &writer) }
            writer.endArray()
        case .string(let text):
            replace(in: text, values) { $1.append(contentsOf: $0) }.withUnsafeBytes { writer.string(bytes: $0) }
        case .literal(let text):
            Array(text.utf8).withUnsafeBytes { writer.raw($0) }
        }
    }

    private static func holds(_ mark: [UInt8], _ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: mark) }
    }

    /// What is filled in is not searched again: a token may look like a placeholder.
    private static func replace(in text: String, _ values: Values, _ append: ([UInt8], inout [UInt8]) -> Void) -> [UInt8] {
        let bytes = Array(text.utf8)
        var filled: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index...].starts(with: tokenMark) {
                values.token?.withBytes { append($0, &filled) }
                index += tokenMark.count
            } else if bytes[index...].starts(with: refreshTokenMark) {
                values.refreshToken?.withBytes { append($0, &filled) }
                index += refreshTokenMark.count
            } else {
                filled.append(bytes[index])
                index += 1
            }
        }
        return filled
    }
}
