// Fills tokens and secrets into a configured call, escaped as the place they stand in demands.
// Domain: cold (reads the secrets a template refers to)

import CryoJSON
import CryoPipeline

struct TokenCallTemplate: Sendable {
    private let call: TokenCall

    init(_ call: TokenCall) { self.call = call }

    var usesToken: Bool { call.texts.contains { TemplateText($0).usesToken } }
    var usesRefreshToken: Bool { call.texts.contains { TemplateText($0).usesRefreshToken } }

    func filled(token: Secret?, refreshToken: Secret?, deadline: UInt64) -> Result<EndpointRequest, SourceTrouble> {
        do throws(SourceTrouble) {
            return .success(try request(TemplateValues(token: token, refreshToken: refreshToken), deadline))
        } catch {
            return .failure(error)
        }
    }

    private func request(_ values: TemplateValues, _ deadline: UInt64) throws(SourceTrouble) -> EndpointRequest {
        let url = try values.fill(call.url) { FormEncoding.append($0, to: &$1, spaceAsPlus: false) }
        var headers = try values.headers(call.headers)
        func setIfAbsent(_ name: String, _ value: String) {
            if !headers.contains(where: { $0.name.lowercased() == name.lowercased() }) { headers.append((name: name, value: value)) }
        }
        var body: [UInt8] = []
        switch call.body {
        case .none: break
        case .json(let node):
            var writer = JSONWriter()
            try Self.write(node, values, to: &writer)
            body = writer.bytes
            setIfAbsent("Content-Type", "application/json")
        case .form(let pairs):
            for pair in pairs { FormEncoding.appendPair(pair.name, try values.fill(pair.value), to: &body) }
            setIfAbsent("Content-Type", "application/x-www-form-urlencoded")
        }
        setIfAbsent("Accept", "application/json")
        return EndpointRequest(
            method: call.method, url: String(decoding: url, as: UTF8.self), headers: headers, body: body, deadline: deadline)
    }

    private static func write(
        _ node: TokenCall.TemplateNode, _ values: TemplateValues, to writer: inout JSONWriter
    ) throws(SourceTrouble) {
        switch node {
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.key)
                try write(member.value, values, to: &writer)
            }
            writer.endObject()
        case .array(let items):
            writer.beginArray()
            for item in items { try write(item, values, to: &writer) }
            writer.endArray()
        case .string(let text):
            let filled = try values.fill(text)
            filled.withUnsafeBytes { writer.string(bytes: $0) }
        case .literal(let text):
            Array(text.utf8).withUnsafeBytes { writer.raw($0) }
        }
    }
}

/// What goes into the places of templates. What is filled in is not searched again: a token may look like a placeholder.
struct TemplateValues: Sendable {
    var token: Secret?
    var refreshToken: Secret?

    func fill(
        _ text: String, _ append: ([UInt8], inout [UInt8]) -> Void = { $1.append(contentsOf: $0) }
    ) throws(SourceTrouble) -> [UInt8] {
        var filled: [UInt8] = []
        for piece in TemplateText(text).pieces {
            switch piece {
            case .text(let bytes): filled.append(contentsOf: bytes)
            case .token: token?.withBytes { append($0, &filled) }
            case .refreshToken: refreshToken?.withBytes { append($0, &filled) }
            case .secret(let reference):
                switch SecretResolver.resolve(reference) {
                case .success(let secret): secret.withBytes { append($0, &filled) }
                case .failure(let problem): throw SourceTrouble(.secretUnavailable, String(describing: problem))
                }
            }
        }
        return filled
    }

    func headers(_ headers: [(name: String, value: String)]) throws(SourceTrouble) -> [(name: String, value: String)] {
        var filled: [(name: String, value: String)] = []
        for header in headers { filled.append((name: header.name, value: String(decoding: try fill(header.value), as: UTF8.self))) }
        return filled
    }
}
