// Writes a recorded request as a curl command for a POSIX shell.
// Domain: pure

/// Where a request goes once more.
package struct RequestDestination: Sendable {
    /// A value with its secrets as variables of the shell, or as they are where somebody asked for that.
    package enum Part: Sendable, Equatable {
        case text(String)
        case secret(variable: String, value: [UInt8]?)
    }

    /// `http://127.0.0.1:8080`, without a path; with one for an upstream that has one.
    package var base: String
    package var unixSocket: String?
    /// To the upstream itself: nothing is injected on the way.
    package var isDirect: Bool
    /// Taken off the target's beginning, as the route does.
    package var strippedPrefix = ""
    /// Fields that are set in place of recorded ones: the token the gateway would have injected.
    package var fields: [(name: String, value: [Part])] = []
    /// Host where it is not that of the base; the gateway may choose routes by it.
    package var host: String?

    package init(base: String, unixSocket: String? = nil, isDirect: Bool = false) {
        self.base = base
        self.unixSocket = unixSocket
        self.isDirect = isDirect
    }
}

package struct CurlCommand: Sendable, Equatable {
    /// One command, over several lines. Printable as it is, whatever the record holds.
    package let text: [UInt8]
    /// Why it is not quite the request that was made.
    package let notes: [String]

    package init(_ request: RecordedRequest, to destination: RequestDestination) {
        var parts: [[UInt8]] = []
        let body = request.body ?? []
        parts.append(Array("curl".utf8) + Self.method(request.method, hasBody: !body.isEmpty))
        if let socket = destination.unixSocket { parts.append(Array("--unix-socket ".utf8) + ShellText.quoted(socket)) }
        parts += Self.url(request, destination)
        if let host = destination.host { parts.append(Self.field("Host", Self.valueParts(host, variable: "HOST"))) }
        let replaced = Set(destination.fields.map { $0.name.lowercased() })
        var hasContentType = false
        for field in request.fields where !replaced.contains(field.name.lowercased()) {
            let name = field.name.lowercased()
            // The gateway injects its own.
            if !destination.isDirect, name == "authorization", RecordedRequest.isMasked(field.value) { continue }
            if name == "content-type" { hasContentType = true }
            parts.append(Self.field(field.name, Self.valueParts(field.value, variable: Self.variable(field.name))))
        }
        for field in destination.fields { parts.append(Self.field(field.name, field.value)) }
        if request.fields.contains(where: { $0.name.lowercased() == "accept-encoding" }) { parts.append(Array("--compressed".utf8)) }
        var start: [UInt8] = []
        if !body.isEmpty {
            // curl would call it a form.
            if !hasContentType { parts.append(Array("-H 'Content-Type:'".utf8)) }
            if body.contains(0) {
                start = Array("printf %b ".utf8) + ShellText.printfArgument(body) + Array(" |\n".utf8)
                parts.append(Array("--data-binary @-".utf8))
            } else {
                // Unlike --data it takes a leading @ as it is.
                let text = String(decoding: body, as: UTF8.self)
                parts.append(Array("--data-raw ".utf8) + Self.word(Self.valueParts(text, variable: "SECRET")))
            }
        }
        text = start + Array(parts.joined(separator: Array(" \\\n  ".utf8)))
        notes = request.obstacles.map(\.text)
    }

    private static func method(_ method: String, hasBody: Bool) -> [UInt8] {
        switch method {
        case "GET" where !hasBody: []
        case "POST" where hasBody: []
        case "HEAD" where !hasBody: Array(" --head".utf8)
        default: Array(" -X ".utf8) + ShellText.quoted(method)
        }
    }

    /// curl takes no `..` away and expands no brackets; `*` is no path.
    private static func url(_ request: RecordedRequest, _ destination: RequestDestination) -> [[UInt8]] {
        if request.target == "*" {
            return [Array("--request-target '*' ".utf8) + word([.text(destination.base)])]
        }
        let url = destination.base + target(request, destination)
        return [Array("--globoff --path-as-is".utf8), Array("--url ".utf8) + word(valueParts(url, variable: "SECRET"))]
    }

    /// Without the prefix that a direct request loses, and without what no URL may hold.
    package static func target(_ request: RecordedRequest, _ destination: RequestDestination) -> String {
        var target = request.target
        if !destination.strippedPrefix.isEmpty, target.hasPrefix(destination.strippedPrefix) {
            target = String(target.dropFirst(destination.strippedPrefix.count))
            if !target.hasPrefix("/") { target = "/" + target }
        }
        var safe = ""
        for scalar in target.unicodeScalars {
            // A recorded target has none of these but for `#`: a record may be anybody's.
            if scalar.value <= 0x20 || scalar.value == 0x7F || scalar == "#" {
                safe += "%" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16, uppercase: true)
            } else {
                safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    private static func field(_ name: String, _ value: [RequestDestination.Part]) -> [UInt8] {
        // An empty value needs a semicolon: with a colon curl takes the field away.
        let head = value == [.text("")] || value.isEmpty ? "\(name);" : "\(name): "
        return Array("-H ".utf8) + word([.text(head)] + value)
    }

    /// The text with a variable in each place where a value was taken out.
    private static func valueParts(_ text: String, variable: String) -> [RequestDestination.Part] {
        var parts: [RequestDestination.Part] = []
        var rest = text[...]
        while let range = RecordedRequest.masked(rest) {
            parts.append(.text(String(rest[..<range.lowerBound])))
            parts.append(.secret(variable: variable, value: nil))
            rest = rest[range.upperBound...]
        }
        return parts + [.text(String(rest))]
    }

    /// One word of the shell. Variables stand in double quotes.
    private static func word(_ parts: [RequestDestination.Part]) -> [UInt8] {
        if parts.allSatisfy({ if case .text = $0 { true } else { false } }) {
            return ShellText.quoted(parts.reduce(into: "") { text, part in if case .text(let more) = part { text += more } })
        }
        var word: [UInt8] = []
        for part in parts {
            switch part {
            case .text(let text): if !text.isEmpty { word += ShellText.quoted(text) }
            case .secret(_, let value?): word += ShellText.quoted(value)
            case .secret(let variable, nil): word += Array("\"$\(variable)\"".utf8)
            }
        }
        return word
    }

    /// `Authorization` is `$TOKEN`, `X-Api-Key` is `$X_API_KEY`.
    package static func variable(_ name: String) -> String {
        if name.lowercased() == "authorization" { return "TOKEN" }
        let letters = name.uppercased().unicodeScalars.map { ("A"..."Z").contains($0) || ("0"..."9").contains($0) ? $0 : "_" }
        let text = String(String.UnicodeScalarView(letters))
        return text.first?.isNumber ?? true ? "_\(text)" : text
    }
}
