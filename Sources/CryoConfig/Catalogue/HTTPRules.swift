// Owns the checks of header names and values, methods and paths.
// Domain: pure

import CryoHTTP

private func isTokenText(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
}

/// RFC 9110 §5.1.
func checkHeaderName(_ text: String) throws(WrongText) {
    guard isTokenText(text) else {
        throw WrongText("a header name is letters, digits and !#$%&'*+-.^_`|~ only")
    }
    let connectionFields = [
        "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
    guard !connectionFields.contains(text.lowercased()) else {
        throw WrongText("the gateway sets this header itself")
    }
}

/// Of a query or a cookie: what needs no encoding in either.
func checkParameterName(_ text: String) throws(WrongText) {
    let isPlain = text.utf8.allSatisfy { isDigit($0) || isLetter($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F || $0 == 0x7E }
    guard isPlain, !text.isEmpty else { throw WrongText("a parameter's name is letters, digits, \"-\", \".\", \"_\" and \"~\"") }
}

/// RFC 9110 §5.5: no control characters but the tab, no space around.
func checkHeaderValue(_ text: String) throws(WrongText) {
    if text.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A }) { throw WrongText("a header value must not contain CR or LF") }
    guard text.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
        throw WrongText("a header value must not contain control characters")
    }
    guard text.utf8.first != 0x20, text.utf8.last != 0x20, text.utf8.first != 0x09, text.utf8.last != 0x09 else {
        throw WrongText("a header value must not begin or end with a space")
    }
}

/// RFC 9110 §9.1: methods are case-sensitive.
func checkMethod(_ text: String) throws(WrongText) {
    guard isTokenText(text) else { throw WrongText("not a method") }
    let upper = text.uppercased()
    guard text == upper else { throw WrongText("methods are case-sensitive", suggestion: upper) }
}

/// A path as routing and upstreams read the same way: see `routingPath`.
func checkPath(_ text: String) throws(WrongText) {
    guard text.hasPrefix("/") else { throw WrongText("a path begins with \"/\"", suggestion: "/" + text) }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }) else {
        throw WrongText("a path is ASCII without spaces, \"?\" and \"#\"")
    }
    let judged = Array(text.utf8).withUnsafeBytes { routingPath($0) }
    if case .refused(let reason) = judged { throw WrongText("\(reason)") }
}

/// `/api/*`, `/*` or an exact path.
func checkRoutePath(_ text: String) throws(WrongText) {
    let star = text.firstIndex(of: "*")
    if let star {
        let isLast = text.index(after: star) == text.endIndex
        guard isLast, text.hasSuffix("/*") else {
            throw WrongText("\"*\" stands for whole segments at the end only, as in /api/*")
        }
    }
    try checkPath(star == nil ? text : String(text.dropLast()))
}

/// `/api`: without a final slash, so that what remains begins with one.
func checkPathPrefix(_ text: String) throws(WrongText) {
    try checkPath(text)
    guard !text.hasSuffix("/") else {
        throw WrongText("a prefix has no final \"/\"", suggestion: text.count > 1 ? String(text.dropLast()) : nil)
    }
}
