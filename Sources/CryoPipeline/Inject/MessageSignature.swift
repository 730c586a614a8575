// HTTP Message Signatures (RFC 9421): the signature base of a request, and the two fields that carry the signature.
// Domain: pure

import CryoHTTP

/// One request as it goes on the wire, and what is said about its signature.
struct MessageSignature {
    var method: [UInt8]
    var isTLS: Bool
    /// As in `Host`: in lower case, the port only where it is not the scheme's own (§2.2.3).
    var authority: [UInt8]
    /// Origin-form.
    var target: [UInt8]
    var fields: FieldSection

    var settings: SignSettings
    var created: Int64
    var nonce: [UInt8]?

    /// What is covered, in order: a field that is not there can't be (§2.5 step 2), and is left out.
    var covered: [String] {
        var names: [String] = []
        for name in settings.components where !names.contains(name) && (name.hasPrefix("@") || has(name)) { names.append(name) }
        if settings.coversBody, has("content-digest"), !names.contains("content-digest") { names.append("content-digest") }
        return names
    }

    /// The signature base (§2.5) and the value of `@signature-params`, which is that of Signature-Input.
    func base() -> (base: [UInt8], parameters: [UInt8]) {
        let names = covered
        var base: [UInt8] = []
        for name in names {
            base.append(contentsOf: "\"\(name)\": ".utf8)
            base.append(contentsOf: value(of: name))
            base.append(0x0A)
        }
        let parameters = Array(parameters(names).utf8)
        base.append(contentsOf: "\"@signature-params\": ".utf8)
        base.append(contentsOf: parameters)
        return (base, parameters)
    }

    private func parameters(_ names: [String]) -> String {
        var text = "(" + names.map { "\"\($0)\"" }.joined(separator: " ") + ")"
        text += ";created=\(created)"
        if settings.expiresSeconds > 0 { text += ";expires=\(created + Int64(settings.expiresSeconds))" }
        if let nonce { text += ";nonce=" + Self.quoted(String(decoding: nonce, as: UTF8.self)) }
        if let keyID = settings.keyID { text += ";keyid=" + Self.quoted(keyID) }
        if settings.tellsAlgorithm { text += ";alg=" + Self.quoted(settings.algorithm.rawValue) }
        if let tag = settings.tag { text += ";tag=" + Self.quoted(tag) }
        return text
    }

    /// RFC 9651 §3.3.3; the configuration admits printable ASCII only.
    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }

    private func value(of name: String) -> [UInt8] {
        let path = target.firstIndex(of: 0x3F).map { Array(target[..<$0]) } ?? target
        switch name {
        case "@method": return method
        case "@scheme": return scheme
        case "@authority": return authority
        case "@request-target": return target
        case "@target-uri": return scheme + Array("://".utf8) + authority + target
        // §2.2.6, §2.2.7: an empty path is a slash, a query that is not there a question mark.
        case "@path": return path.isEmpty ? [0x2F] : path
        case "@query": return target.firstIndex(of: 0x3F).map { Array(target[$0...]) } ?? [0x3F]
        default: return fieldValue(name)
        }
    }

    private var scheme: [UInt8] { Array((isTLS ? "https" : "http").utf8) }

    private func lineIndices(_ name: String) -> [Int] {
        let wanted = Array(name.utf8)
        return fields.lines.indices.filter { index in
            !fields.lines[index].isRemoved
                && wanted.withUnsafeBytes { wanted in fields.withName(at: index) { equalsIgnoringCase($0, lowercased: wanted) } }
        }
    }

    private func has(_ name: String) -> Bool { !lineIndices(name).isEmpty }

    /// §2.1: each line without the space around it, joined by a comma and a space.
    private func fieldValue(_ name: String) -> [UInt8] {
        let values = lineIndices(name).map { index -> [UInt8] in
            fields.withValue(at: index) { value in
                let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
                let head = value.prefix(while: isSpace).count
                let tail = value.reversed().prefix(while: isSpace).count
                return head == value.count ? [] : Array(value[head..<value.count - tail])
            }
        }
        return Array(values.joined(separator: [0x2C, 0x20]))
    }
}
