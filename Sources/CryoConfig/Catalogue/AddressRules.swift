// Owns reading addresses, hosts and URLs out of text.
// Domain: pure

import CryoPipeline
import Glibc

func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }

/// `host:port` with a literal address, or `unix:/path`. `localhost` means 127.0.0.1.
func parseListenAddress(_ text: String) throws(WrongText) -> ListenSettings.Address {
    guard !hasControls(text) else { throw WrongText("must not contain control characters") }
    if text.hasPrefix("unix:") {
        let path = String(text.dropFirst(5))
        // sockaddr_un holds 108 bytes with the final zero.
        guard path.hasPrefix("/"), (2...107).contains(path.utf8.count) else {
            throw WrongText("a socket is unix: and an absolute path of at most 107 bytes, as in unix:/run/cryonet.sock")
        }
        return .unix(path: path)
    }
    let hint = "an address is host:port, as in 127.0.0.1:8080 or [::1]:8080, or unix:/path"
    guard let colon = text.lastIndex(of: ":") else {
        if let port = UInt16(text) { throw WrongText(hint, suggestion: "127.0.0.1:\(port)") }
        throw WrongText(hint, suggestion: isAddress(text, AF_INET) ? "\(text):8080" : nil)
    }
    let portText = text[text.index(after: colon)...]
    guard !portText.isEmpty, portText.utf8.allSatisfy(isDigit), let port = UInt16(portText) else {
        throw WrongText("a port is a number from 0 to 65535")
    }
    let host = String(text[..<colon])
    if host.isEmpty { throw WrongText(hint, suggestion: "127.0.0.1:\(port)") }
    if host == "localhost" { return .tcp(host: "127.0.0.1", port: port) }
    if host.hasPrefix("["), host.hasSuffix("]") {
        let literal = String(host.dropFirst().dropLast())
        guard isAddress(literal, AF_INET6) else { throw WrongText("not an IPv6 address between the brackets") }
        return .tcp(host: literal, port: port)
    }
    guard isAddress(host, AF_INET) else {
        if isAddress(host, AF_INET6) { throw WrongText("an IPv6 address needs brackets", suggestion: "[\(host)]:\(port)") }
        throw WrongText("the host must be an IP address, not a name: \(hint)")
    }
    return .tcp(host: host, port: port)
}

func isAddress(_ text: String, _ family: Int32) -> Bool {
    var buffer = in6_addr()
    return !text.utf8.contains(0) && inet_pton(family, text, &buffer) == 1
}

/// Only this machine can reach it: 127.0.0.0/8, ::1, a socket in the file system.
func isLoopback(_ address: ListenSettings.Address) -> Bool {
    switch address {
    case .unix: true
    case .tcp(let host, _): host.hasPrefix("127.") || isSameAddress(host, "::1")
    }
}

private func isSameAddress(_ one: String, _ other: String) -> Bool {
    var first = in6_addr()
    var second = in6_addr()
    guard inet_pton(AF_INET6, one, &first) == 1, inet_pton(AF_INET6, other, &second) == 1 else { return false }
    return withUnsafeBytes(of: first) { left in withUnsafeBytes(of: second) { left.elementsEqual($0) } }
}

/// A host without port, lower case: a name of ASCII letters, digits, `-`, `.` and `_`, an IPv4 address or a bracketed IPv6 address.
func parseHost(_ text: String) throws(WrongText) -> String {
    let lowered = text.lowercased()
    if lowered.hasPrefix("[") {
        guard lowered.hasSuffix("]"), isAddress(String(lowered.dropFirst().dropLast()), AF_INET6) else {
            throw WrongText("not an IPv6 address between the brackets")
        }
        return lowered
    }
    if isAddress(lowered, AF_INET6) { throw WrongText("an IPv6 address needs brackets", suggestion: "[\(lowered)]") }
    if let colon = lowered.firstIndex(of: ":") {
        throw WrongText("a host has no port here", suggestion: colon > lowered.startIndex ? String(lowered[..<colon]) : nil)
    }
    let isName = lowered.utf8.allSatisfy { isDigit($0) || isLetter($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F }
    guard isName, (1...253).contains(lowered.utf8.count), lowered.first != ".", !lowered.contains("..") else {
        throw WrongText("not a host name: ASCII letters, digits, \"-\" and \".\" (write an international name as xn--…)")
    }
    return lowered
}

/// The pieces of an absolute http(s) URL.
private struct URLPieces {
    var isTLS: Bool
    var host: String
    var port: UInt16
    /// Path with query.
    var rest: String
}

private func splitURL(_ text: String) throws(WrongText) -> URLPieces {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw WrongText("a URL is ASCII without spaces: percent-encode everything else")
    }
    let isTLS = text.lowercased().hasPrefix("https://")
    guard isTLS || text.lowercased().hasPrefix("http://") else {
        throw WrongText("a URL begins with https:// or http://", suggestion: text.contains("://") ? nil : "https://\(text)")
    }
    let afterScheme = text.dropFirst(isTLS ? 8 : 7)
    let end = afterScheme.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? afterScheme.endIndex
    let authority = afterScheme[..<end]
    let rest = String(afterScheme[end...])
    guard !authority.contains("@") else { throw WrongText("a URL must not hold a user or password: use a token") }
    guard !rest.contains("#") else { throw WrongText("a fragment (#…) never reaches a server") }
    var host = authority[...]
    var port: UInt16 = isTLS ? 443 : 80
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
        let digits = authority[authority.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit), let number = UInt16(digits), number > 0 else {
            throw WrongText("a port is a number from 1 to 65535")
        }
        port = number
        host = authority[..<colon]
    }
    guard !host.isEmpty else { throw WrongText("the URL names no host") }
    return URLPieces(isTLS: isTLS, host: try parseHost(String(host)), port: port, rest: rest)
}

func parseUpstreamURL(_ text: String) throws(WrongText) -> UpstreamURL {
    let pieces = try splitURL(text)
    guard !pieces.rest.contains("?") else { throw WrongText("an upstream's URL has no query: requests bring their own") }
    var path = pieces.rest
    while path.hasSuffix("/") { path.removeLast() }
    if !path.isEmpty { try checkPath(path) }
    return UpstreamURL(isTLS: pieces.isTLS, host: pieces.host, port: pieces.port, basePath: path)
}

func checkCallURL(_ text: String) throws(WrongText) { _ = try splitURL(text) }

/// The URL sends what it carries in clear text over a network.
func isClearText(_ url: String) -> Bool {
    guard let pieces = try? splitURL(url), !pieces.isTLS else { return false }
    return !(pieces.host == "localhost" || pieces.host.hasPrefix("127.") || pieces.host == "[::1]")
}

/// What a browser sends in `Origin`: scheme, host, port where it is not the scheme's own.
func parseBrowserOrigin(_ text: String) throws(WrongText) -> String {
    guard text != "*" else { throw WrongText("\"*\" would let every web page use the token: list the origins") }
    let pieces = try splitURL(text)
    let url = UpstreamURL(isTLS: pieces.isTLS, host: pieces.host, port: pieces.port)
    guard pieces.rest.isEmpty else { throw WrongText("an origin has no path", suggestion: url.origin) }
    return url.origin
}

func checkAddressBlock(_ text: String) throws(WrongText) {
    guard AddressBlock(text) == nil else { return }
    throw WrongText("a peer is an IP address, a block as in 10.0.0.0/8, or unix")
}
