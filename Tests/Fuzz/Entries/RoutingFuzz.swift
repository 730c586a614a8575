// Fuzz entry: request targets, Host and routes (RFC 9112 §3.2; RFC 3986 §3.3).
//
// The input is up to three lines: the request target, the Host, the Origin. Where a line is missing a good one is used.
// Domain: pure

import CryoHTTP
import CryoPipeline

func fuzzRouting(_ bytes: UnsafeRawBufferPointer) throws(Broken) {
    let lines = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false).map { Array($0) }
    try checkPath(lines[0])
    var text = Array("GET ".utf8)
    text.append(contentsOf: lines[0])
    text.append(contentsOf: Array(" HTTP/1.1\r\nHost: ".utf8))
    text.append(contentsOf: lines.count > 1 ? lines[1] : Array("localhost:8080".utf8))
    if lines.count > 2 {
        text.append(contentsOf: Array("\r\nOrigin: ".utf8))
        text.append(contentsOf: lines[2])
    }
    text.append(contentsOf: Array("\r\n\r\n".utf8))
    var parser = RequestParser()
    guard case .head(let head, _) = text.withUnsafeBytes({ parser.parse($0) }) else { return }
    guard let route = RouteProbe.route(of: head, in: plan, localPort: 8080) else { return }

    let path = Array(head.fields.bytes[route.path])
    try claim(path.first == 0x2F, "a routed path begins with a slash")
    for levels in 0...2 {
        let resolved = resolve(path, levels)
        try claim(isBelow(resolved, route.name), "decoded \(levels) times the path is \(resolved), outside of \(route.name)")
    }
    if !route.isAbsolute {
        let host = head.fields.value(of: "host").map { String(decoding: $0, as: UTF8.self).lowercased() } ?? ""
        let name = host.hasPrefix("[") ? String(host.prefix { $0 != "]" }) + "]" : String(host.prefix { $0 != ":" })
        try claim(["localhost", "127.0.0.1", "[::1]"].contains(name), "\(host) is no host of ours")
    }
    if let origin = head.fields.value(of: "origin").map({ String(decoding: $0, as: UTF8.self).lowercased() }) {
        let host = head.fields.value(of: "host").map { String(decoding: $0, as: UTF8.self).lowercased() } ?? ""
        try claim(origin == "http://\(host)" || origin == "https://\(host)", "\(origin) is another site")
    }
}

/// The prefix is the route's name, so that what matched is known without asking the pattern.
private let plan: PipelinePlan = {
    let api = UpstreamPlan(UpstreamSettings(name: "api", url: UpstreamURL(isTLS: false, host: "api.example.com", port: 80)))
    let routes = ["/api", "/api/v2", "/static", "/a-b"].map { prefix in
        RoutePlan(RouteSettings(name: prefix, path: prefix + "/*", upstream: "api"), upstream: api, credentials: nil, policy: nil)
    }
    return PipelinePlan(
        routes: routes, upstreams: [api], credentials: [], hosts: ["localhost", "127.0.0.1", "[::1]"], audit: nil, auditSink: nil,
        limits: LimitSettings())
}()

private func isBelow(_ segments: [String], _ prefix: String) -> Bool {
    segments.starts(with: prefix.dropFirst().split(separator: "/").map(String.init))
}

/// What the most obliging server would make of a path: decoded that often, backslashes taken for slashes, path parameters stripped,
/// repeated slashes kept, dot segments resolved.
private func resolve(_ path: [UInt8], _ levels: Int) -> [String] {
    var path = path
    for _ in 0..<levels { path = decodedOnce(path) }
    // Unreserved characters are equivalent to their encodings for everybody, so the prefix is compared decoded at least once.
    if levels == 0 { path = decodedOnce(path) }
    var segments: [String] = []
    for segment in path.dropFirst().split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x2F || $0 == 0x5C }) {
        let name = String(decoding: segment.prefix { $0 != 0x3B }, as: UTF8.self)
        if name == ".." { _ = segments.popLast() } else if name != "." { segments.append(name) }
    }
    return segments
}

private func decodedOnce(_ path: [UInt8]) -> [UInt8] {
    var decoded: [UInt8] = []
    var index = 0
    while index < path.count {
        if path[index] == 0x25, index + 2 < path.count, let high = hexadecimalValue(path[index + 1]),
            let low = hexadecimalValue(path[index + 2])
        {
            decoded.append(high << 4 | low)
            index += 3
        } else {
            decoded.append(path[index])
            index += 1
        }
    }
    return decoded
}

/// An accepted path has no dot segment at all, in any spelling, whichever rule for `%2F` it was accepted under.
private func checkPath(_ path: [UInt8]) throws(Broken) {
    for rule in [EncodedSlashRule.refused, .kept] {
        let judged = path.withUnsafeBytes { routingPath($0, encodedSlash: rule) }
        if case .refused = judged { continue }
        var decoded = path
        for levels in 0...2 {
            for segment in decoded.split(whereSeparator: { $0 == 0x2F || $0 == 0x5C }) {
                let name = segment.prefix { $0 != 0x3B }
                try claim(!name.elementsEqual([0x2E]) && !name.elementsEqual([0x2E, 0x2E]), "a dot segment after \(levels) decodings")
            }
            decoded = decodedOnce(decoded)
        }
        if case .normalized(let copy) = judged {
            let again = copy.withUnsafeBytes { routingPath($0, encodedSlash: rule) }
            try claim(again == .raw || again == judged, "a normalized path normalizes to itself")
        }
    }
}
