// Owns what a text value may look like: one case for each meaning, with its check and its JSON Schema pattern.
// Domain: pure

import CryoJSON
import CryoPipeline

package enum TextRule: Sendable, Equatable {
    case any, name, secret, file, environmentName, header, parameter, headerValue, method, host, browserOrigin, addressBlock
    case listenAddress, upstreamURL, callURL, path, routePath, pathPrefix, tokenFormat, pin, code, status, fileMode, retryCondition
    case redisAddress, redisURL, redisKey
    case number, textPattern, codes, failureName
    case signatureComponent, signatureLabel, signatureParameter

    /// Why the text does not follow the rule; nil when it does. Never quotes the text: it may be a secret.
    func wrong(_ text: String) -> WrongText? {
        do {
            switch self {
            case .any: break
            case .name: try checkName(text)
            case .secret: _ = try parseSecretReference(text)
            case .file: try checkNotEmpty(text)
            case .environmentName: try checkEnvironmentName(text)
            case .header: try checkHeaderName(text)
            case .parameter: try checkParameterName(text)
            case .headerValue: try checkHeaderValue(text)
            case .method: try checkMethod(text)
            case .host: _ = try parseHost(text)
            case .browserOrigin: _ = try parseBrowserOrigin(text)
            case .addressBlock: try checkAddressBlock(text)
            case .listenAddress: _ = try parseListenAddress(text)
            case .upstreamURL: _ = try parseUpstreamURL(text)
            case .callURL: try checkCallURL(text)
            case .path: _ = try parsePath(text)
            case .routePath: try checkRoutePath(text)
            case .pathPrefix: try checkPathPrefix(text)
            case .tokenFormat: try checkTokenFormat(text)
            case .pin: try checkPin(text)
            case .code: try checkNotEmpty(text)
            case .status: _ = try parseStatus(text)
            case .fileMode: _ = try parseFileMode(text)
            case .codes: try checkCodes(text)
            case .failureName: _ = try parseFailureName(text)
            case .number: try checkNumber(text)
            case .textPattern: _ = try parseTextPattern(text)
            case .retryCondition: _ = try parseRetryCondition(text)
            case .redisAddress: _ = try parseRedisAddress(text)
            case .redisKey: try checkNotEmpty(text)
            case .redisURL: _ = try parseRedisURL(text)
            case .signatureComponent: try checkSignatureComponent(text)
            case .signatureLabel: try checkSignatureLabel(text)
            case .signatureParameter: try checkSignatureParameter(text)
            }
            return nil
        } catch {
            return error
        }
    }

    /// A pattern for the JSON Schema where it says more than "text".
    var pattern: String? {
        switch self {
        case .parameter: "^[0-9A-Za-z._~-]+$"
        case .name: "^[A-Za-z0-9_.-]{1,64}$"
        case .environmentName: "^[A-Za-z_][A-Za-z0-9_]*$"
        case .header, .method: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
        case .headerValue: "^[^\\u0000-\\u0008\\u000A-\\u001F\\u007F]*$"
        case .upstreamURL, .callURL: "^[Hh][Tt][Tt][Pp][Ss]?://"
        case .routePath, .pathPrefix: "^/"
        case .tokenFormat: "^[^{]*\\{token\\}[^{]*$"
        case .pin: "^sha256/[A-Za-z0-9+/]{43}=$"
        case .status: "^[45][0-9][0-9]$"
        case .fileMode: "^0?[0-7]{3}$"
        case .retryCondition: "^([a-z_]+|[45]([0-9][0-9]|xx)|business:.+)$"
        case .signatureComponent: "^(@[a-z-]+|[!#$%&'*+.^_`|~0-9a-z-]+)$"
        case .signatureLabel: "^[a-z*][a-z0-9_.*-]{0,63}$"
        case .signatureParameter: "^[ -~]{1,256}$"
        case .redisURL: "^[Rr][Ee][Dd][Ii][Ss]://"
        case .any, .secret, .file, .host, .browserOrigin, .addressBlock, .listenAddress, .path, .code, .redisAddress, .redisKey,
            .textPattern,
            .failureName:
            nil
        case .number: "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"
        case .codes: "^[^*]*\\*?$"
        }
    }

    /// The rule also takes a bare number, as written.
    var allowsNumber: Bool {
        [.any, .headerValue, .code, .status, .fileMode, .number, .textPattern, .codes, .failureName, .retryCondition].contains(self)
    }
}

package struct WrongText: Error, Equatable {
    var message: String
    var suggestion: String?

    init(_ message: String, suggestion: String? = nil) {
        self.message = message
        self.suggestion = suggestion
    }
}

func hasControls(_ text: String) -> Bool { text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }

private func checkNotEmpty(_ text: String) throws(WrongText) {
    guard !text.isEmpty else { throw WrongText("must not be empty") }
    guard !hasControls(text) else { throw WrongText("must not contain control characters") }
}

private func checkName(_ text: String) throws(WrongText) {
    let isName = text.utf8.allSatisfy { isDigit($0) || isLetter($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F }
    guard isName, (1...64).contains(text.utf8.count) else {
        throw WrongText("a name is 1 to 64 letters, digits, \"-\", \".\" or \"_\"")
    }
}

private func checkEnvironmentName(_ text: String) throws(WrongText) {
    let bytes = text.utf8
    guard let first = bytes.first, !isDigit(first), bytes.allSatisfy({ isDigit($0) || isLetter($0) || $0 == 0x5F }) else {
        throw WrongText("an environment variable's name is letters, digits and \"_\", not beginning with a digit")
    }
}

func parseSecretReference(_ text: String) throws(WrongText) -> SecretReference {
    try checkNotEmpty(text)
    if text.hasPrefix("env:") {
        let name = String(text.dropFirst(4))
        try checkEnvironmentName(name)
        return .environment(name: name)
    }
    if text.hasPrefix("file:") {
        let path = String(text.dropFirst(5))
        guard !path.isEmpty else { throw WrongText("file: needs a path, as in file:/run/secrets/token") }
        return .file(path: path)
    }
    return .literal(Secret(text))
}

func isSecretReference(_ text: String) -> Bool {
    switch try? parseSecretReference(text) {
    case .environment, .file: true
    case .literal, nil: false
    }
}

func parsePath(_ text: String) throws(WrongText) -> JSONPath {
    guard !hasControls(text), let path = JSONPath(text) else {
        throw WrongText("not a path into JSON: write data.token or /data/token, at most \(JSONPath.segmentsMax) segments")
    }
    return path
}

private func checkCodes(_ text: String) throws(WrongText) {
    try checkNotEmpty(text)
    guard !text.dropLast().contains("*") else { throw WrongText("\"*\" stands at the end only: 5* is every code that begins with 5") }
}

/// What a text may be given for: a status of the upstream's or a reason of the failure table.
enum FailureName {
    case status(UInt16)
    case reason(FailureReason)
}

func parseFailureName(_ text: String) throws(WrongText) -> FailureName {
    if let reason = FailureReason(rawValue: text) { return .reason(reason) }
    if let status = try? parseStatus(text) { return .status(status) }
    throw WrongText(
        "neither a status from 400 to 599 nor a reason of the failure table",
        suggestion: suggestion(for: text, among: FailureReason.allCases.map(\.rawValue)))
}

private func checkNumber(_ text: String) throws(WrongText) {
    guard isJSONNumber(text) else { throw WrongText("not a number: write it as JSON does, as in 200 or -1.5") }
}

func parseTextPattern(_ text: String) throws(WrongText) -> TextPattern {
    guard !text.isEmpty, !hasControls(text), let pattern = TextPattern(text) else {
        throw WrongText(
            "not a pattern: * is any text, ? a character, [a-z] one of these, \\ takes the next as it is; at most "
                + "\(TextPattern.itemsMax) bytes besides *")
    }
    return pattern
}

private func checkTokenFormat(_ text: String) throws(WrongText) {
    try checkHeaderValue(text)
    let parts = text.split(separator: "{token}", omittingEmptySubsequences: false)
    guard parts.count == 2 else {
        throw WrongText("must contain {token} exactly once, as in \"Bearer {token}\"")
    }
}

private func checkPin(_ text: String) throws(WrongText) {
    let digits = text.utf8.dropFirst(7)
    let isBase64 = digits.dropLast().allSatisfy { isDigit($0) || isLetter($0) || $0 == 0x2B || $0 == 0x2F }
    guard text.hasPrefix("sha256/"), digits.count == 44, digits.last == UInt8(ascii: "="), isBase64 else {
        throw WrongText("a pin is sha256/ and 44 characters of base64: the SHA-256 of the public key's DER")
    }
}

func parseStatus(_ text: String) throws(WrongText) -> UInt16 {
    guard text.utf8.count == 3, let status = UInt16(text), failureStatuses.contains(Int64(status)) else {
        throw WrongText("must be a status from 400 to 599")
    }
    return status
}

func parseRetryCondition(_ text: String) throws(WrongText) -> RetryCondition {
    if let condition = RetryCondition(text) { return condition }
    if let reason = FailureReason(rawValue: text) {
        guard reason == .tlsCertificateInvalid || reason == .pinMismatch else { throw WrongText("not a failure of the network") }
        throw WrongText("a wrong certificate is wrong again: this is never tried again")
    }
    throw WrongText(
        "a condition is a reason, a status from 400 to 599, 4xx, 5xx or business:CODE",
        suggestion: suggestion(for: text, among: RetryCondition.reasons.map(\.rawValue)))
}

/// Octal permissions, `0600` or `600`.
func parseFileMode(_ text: String) throws(WrongText) -> UInt32 {
    let digits = text.utf8.count == 4 && text.hasPrefix("0") ? text.dropFirst() : text[...]
    guard digits.utf8.count == 3, let mode = UInt32(digits, radix: 8) else {
        throw WrongText("permissions are three octal digits, as in 0600")
    }
    return mode
}

let failureStatuses: ClosedRange<Int64> = 400...599
