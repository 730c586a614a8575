// Owns the checks of what a signature covers and says (RFC 9421).
// Domain: pure

import CryoPipeline

/// A derived component of requests, or a field in lower case that no hop changes.
func checkSignatureComponent(_ text: String) throws(WrongText) {
    if text.hasPrefix("@") {
        guard SignSettings.derived.contains(text) else {
            let known = SignSettings.derived.joined(separator: ", ")
            throw WrongText("not one of \(known)", suggestion: suggestion(for: text, among: SignSettings.derived))
        }
        return
    }
    guard text == text.lowercased() else { throw WrongText("fields are covered in lower case", suggestion: text.lowercased()) }
    let changing = ["signature", "signature-input", "expect"]
    guard !changing.contains(text) else { throw WrongText("a signature can't cover this field") }
    guard text != "host" else { throw WrongText("Host has another name in HTTP/2", suggestion: "@authority") }
    try checkHeaderName(text)
}

/// A key of a structured dictionary (RFC 9651 §3.1.2).
func checkSignatureLabel(_ text: String) throws(WrongText) {
    let isFirst: (UInt8) -> Bool = { $0 &- 0x61 < 26 || $0 == 0x2A }
    let isRest: (UInt8) -> Bool = { isFirst($0) || isDigit($0) || $0 == 0x5F || $0 == 0x2D || $0 == 0x2E }
    guard let first = text.utf8.first, isFirst(first), text.utf8.allSatisfy(isRest), text.utf8.count <= 64 else {
        throw WrongText("a label is lower-case letters, digits, \"_\", \"-\", \".\" and \"*\", and begins with a letter or \"*\"")
    }
}

/// A structured string (RFC 9651 §3.3.3).
func checkSignatureParameter(_ text: String) throws(WrongText) {
    guard 1...256 ~= text.utf8.count, text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
        throw WrongText("1 to 256 printable ASCII characters")
    }
}
