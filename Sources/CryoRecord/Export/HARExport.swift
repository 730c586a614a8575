// Writes records as an HTTP archive, HAR 1.2, which browsers' tools open.
// Domain: pure

import CryoHTTP
import CryoJSON

/// A HAR is one JSON text: ``begin``, then ``entry`` for each record with commas between them, then ``end``.
package struct HARExport {
    /// Where the gateway listens, without a path: for records that keep no Host.
    private let base: String

    package init(base: String) { self.base = base }

    package func begin(version: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("name", "cryonet")
        writer.field("version", version)
        writer.endObject()
        return Array("{\"log\":{\"version\":\"1.2\",\"creator\":".utf8) + writer.bytes + Array(",\"entries\":[".utf8)
    }

    package func end() -> [UInt8] { Array("]}}\n".utf8) }

    package func entry(_ record: RecordView) -> [UInt8] {
        var writer = JSONWriter()
        writer.reserveCapacity(record.line.count + 1024)
        writer.beginObject()
        writer.field("startedDateTime", record.unixMicroseconds == nil ? "1970-01-01T00:00:00.000Z" : record.time)
        let timings = Timings(record)
        milliseconds("time", timings.total, &writer)
        writer.key("request")
        appendRequest(record, &writer)
        writer.key("response")
        appendResponse(record, &writer)
        writer.key("cache")
        writer.beginObject()
        writer.endObject()
        writer.key("timings")
        append(timings, &writer)
        if let failure = record.failure {
            writer.field("comment", [failure.reason, failure.detail].compactMap { $0 }.joined(separator: ": "))
        }
        writer.key("_cryonet")
        appendOwn(record, &writer)
        writer.endObject()
        return writer.bytes
    }

    // MARK: Request

    private func appendRequest(_ record: RecordView, _ writer: inout JSONWriter) {
        let fields = record.requestFields ?? []
        let target = record.target ?? "/"
        writer.beginObject()
        // A head that was malformed has none.
        writer.field("method", record.method ?? "UNKNOWN")
        let isAbsolute = target.contains("://") && !target.hasPrefix("/")
        writer.field("url", isAbsolute ? target : origin(record) + (target.hasPrefix("/") ? target : "/" + target))
        writer.field("httpVersion", record.text("http_version") ?? "HTTP/1.1")
        writer.key("cookies")
        appendCookies(fields, &writer)
        append("headers", fields, &writer)
        writer.key("queryString")
        appendPairs(of: target, &writer)
        if let body = record.requestBody {
            writer.key("postData")
            writer.beginObject()
            writer.field("mimeType", record.requestField("content-type") ?? "")
            body.withUnsafeBytes { writer.field("text", bytes: $0) }
            if record.isRequestBodyCut { writer.field("comment", "cut: \(record.requestBytes) bytes were sent") }
            writer.endObject()
        }
        writer.field("headersSize", Int64(-1))
        writer.field("bodySize", max(-1, record.requestBytes))
        writer.endObject()
    }

    /// What the client asked, as far as a browser's tool can show it.
    private func origin(_ record: RecordView) -> String {
        guard let host = record.requestField("host"), !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }) else {
            return base
        }
        return (base.hasPrefix("https:") ? "https://" : "http://") + host
    }

    private func append(_ key: StaticString, _ fields: [RecordedField], _ writer: inout JSONWriter) {
        writer.key(key)
        writer.beginArray()
        for field in fields {
            writer.beginObject()
            writer.field("name", field.name)
            writer.field("value", field.value)
            writer.endObject()
        }
        writer.endArray()
    }

    private func appendCookies(_ fields: [RecordedField], _ writer: inout JSONWriter) {
        writer.beginArray()
        for field in fields where field.name.lowercased() == "cookie" {
            for pair in field.value.split(separator: ";") { appendCookie(pair, attributes: [], &writer) }
        }
        for field in fields where field.name.lowercased() == "set-cookie" {
            let parts = field.value.split(separator: ";")
            if let pair = parts.first { appendCookie(pair, attributes: parts.dropFirst().map { $0.trimmed.lowercased() }, &writer) }
        }
        writer.endArray()
    }

    /// A line that was taken out whole is no cookie.
    private func appendCookie(_ pair: Substring, attributes: [String], _ writer: inout JSONWriter) {
        guard let equals = pair.firstIndex(of: "=") else { return }
        writer.beginObject()
        writer.field("name", String(pair[..<equals].trimmed))
        writer.field("value", String(pair[pair.index(after: equals)...].trimmed))
        if attributes.contains("httponly") { writer.field("httpOnly", true) }
        if attributes.contains("secure") { writer.field("secure", true) }
        writer.endObject()
    }

    private func appendPairs(of target: String, _ writer: inout JSONWriter) {
        writer.beginArray()
        if let mark = target.firstIndex(of: "?") {
            for pair in target[target.index(after: mark)...].split(separator: "&") {
                let equals = pair.firstIndex(of: "=") ?? pair.endIndex
                writer.beginObject()
                writer.key("name")
                Self.decoded(pair[..<equals]).withUnsafeBytes { writer.string(bytes: $0) }
                writer.key("value")
                Self.decoded(pair[equals...].dropFirst()).withUnsafeBytes { writer.string(bytes: $0) }
                writer.endObject()
            }
        }
        writer.endArray()
    }

    private static func decoded(_ text: Substring) -> [UInt8] { percentDecoded(Array(text.utf8), plusIsSpace: true) }

    // MARK: Response

    private func appendResponse(_ record: RecordView, _ writer: inout JSONWriter) {
        let fields = record.responseFields ?? []
        writer.beginObject()
        writer.field("status", Int64(max(0, min(999, record.status))))
        writer.key("statusText")
        writer.string(reasonPhrase(UInt16(clamping: record.status)))
        writer.field("httpVersion", "HTTP/1.1")
        writer.key("cookies")
        appendCookies(fields, &writer)
        append("headers", fields, &writer)
        writer.key("content")
        writer.beginObject()
        writer.field("size", max(-1, record.responseBytes))
        writer.field("mimeType", record.responseField("content-type") ?? "")
        if let body = record.responseBody {
            body.withUnsafeBytes { writer.field("text", bytes: $0) }
            if record.text("response_body_encoding") == "base64" { writer.field("encoding", "base64") }
            if record.isResponseBodyCut { writer.field("comment", "cut by the audit") }
        }
        writer.endObject()
        writer.field("redirectURL", record.responseField("location") ?? "")
        writer.field("headersSize", Int64(-1))
        writer.field("bodySize", max(-1, record.responseBytes))
        writer.endObject()
    }

    // MARK: Times

    /// Microseconds; -1 where a phase did not take place.
    private struct Timings {
        var blocked: Int64 = -1
        var dns: Int64 = -1
        var connect: Int64 = -1
        var tls: Int64 = -1
        var wait: Int64 = 0
        var receive: Int64 = 0

        /// The phases are those of the last attempt; all before it and after it is `blocked`: queueing, refreshes, earlier attempts.
        init(_ record: RecordView) {
            let whole = max(0, record.durationMicroseconds)
            guard let last = record.attempts.last else {
                wait = whole
                return
            }
            let duration = max(0, last.duration)
            blocked = max(0, whole - duration)
            let resolved = min(max(0, last.dns), duration)
            let connected = min(max(resolved, last.connect, last.tls), duration)
            let answered = min(max(connected, last.firstByte), duration)
            if connected > 0, !last.isReused {
                dns = resolved
                connect = connected - resolved
                if last.tls > 0 { tls = max(0, min(last.tls, connected) - min(max(last.connect, resolved), connected)) }
                wait = answered - connected
            } else {
                wait = answered
            }
            receive = duration - answered
        }

        var total: Int64 { [blocked, dns, connect, wait, receive].reduce(0) { $0 + max(0, $1) } }
    }

    private func append(_ timings: Timings, _ writer: inout JSONWriter) {
        writer.beginObject()
        milliseconds("blocked", timings.blocked, &writer)
        milliseconds("dns", timings.dns, &writer)
        milliseconds("connect", timings.connect, &writer)
        milliseconds("ssl", timings.tls, &writer)
        milliseconds("send", 0, &writer)
        milliseconds("wait", timings.wait, &writer)
        milliseconds("receive", timings.receive, &writer)
        writer.endObject()
    }

    private func milliseconds(_ key: StaticString, _ microseconds: Int64, _ writer: inout JSONWriter) {
        guard microseconds >= 0 else { return writer.field(key, Int64(-1)) }
        let fraction = String(microseconds % 1000)
        let text = "\(microseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
        Array(text.utf8).withUnsafeBytes { writer.rawField(key, $0) }
    }

    /// What HAR has no place for.
    private func appendOwn(_ record: RecordView, _ writer: inout JSONWriter) {
        writer.beginObject()
        let members = ["id", "request_id", "client", "route", "upstream", "steps", "attempts", "failure", "business_code", "session"]
        for name in members {
            guard let value = record.raw(name) else { continue }
            writer.key(name)
            value.withUnsafeBytes { writer.raw($0) }
        }
        writer.endObject()
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        let start = drop { $0 == " " }
        guard let last = start.lastIndex(where: { $0 != " " }) else { return start[..<start.startIndex] }
        return start[...last]
    }
}
