// Writes response heads into a byte buffer (RFC 9112 §4), and the number formats they need.
// Domain: pure

extension [UInt8] {
    /// Appends `HTTP/1.1 nnn Reason` CRLF. An unknown status gets an empty reason phrase.
    package mutating func appendStatusLine(_ status: UInt16) {
        if status == 200 {
            let usual: StaticString = "HTTP/1.1 200 OK\r\n"
            return append(contentsOf: usual.rawBytes)
        }
        let version: StaticString = "HTTP/1.1 "
        append(contentsOf: version.rawBytes)
        appendDecimal(UInt64(status))
        append(0x20)
        append(contentsOf: reasonPhrase(status).rawBytes)
        appendLineEnd()
    }

    /// Appends one field line. The caller guarantees a value without CR, LF and NUL.
    package mutating func appendField(name: StaticString, value: UnsafeRawBufferPointer) {
        append(contentsOf: name.rawBytes)
        append(0x3A)
        append(0x20)
        append(contentsOf: value)
        appendLineEnd()
    }

    package mutating func appendField(name: StaticString, value: StaticString) { appendField(name: name, value: value.rawBytes) }

    package mutating func appendField(name: StaticString, value: UInt64) {
        append(contentsOf: name.rawBytes)
        append(0x3A)
        append(0x20)
        appendDecimal(value)
        appendLineEnd()
    }

    /// Appends every line that is not removed, in order, name spelling kept. Lines that lie one behind the other as they go on the wire
    /// are appended by one copy.
    package mutating func appendFields(_ fields: FieldSection) { fields.forEachRun { append(contentsOf: $0) } }

    /// Appends `Date` for that second.
    package mutating func appendDateField(unixSeconds: Int64) {
        let name: StaticString = "Date: "
        append(contentsOf: name.rawBytes)
        HTTPDate.append(unixSeconds: unixSeconds, to: &self)
        appendLineEnd()
    }

    /// CRLF: ends a line; a second one ends the head.
    package mutating func appendLineEnd() {
        append(0x0D)
        append(0x0A)
    }

    package mutating func appendDecimal(_ value: UInt64) {
        var rest = value
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var start = 20
            repeat {
                start -= 1
                digits[start] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            append(contentsOf: digits[start...])
        }
    }

    /// Lower-case hexadecimal without leading zeros.
    package mutating func appendHexadecimal(_ value: UInt64) {
        var shift = value == 0 ? 0 : (63 - value.leadingZeroBitCount) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(shift)) & 15
            append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            shift -= 4
        }
    }
}

/// The registered reason phrase (IANA HTTP status codes), or an empty one.
package func reasonPhrase(_ status: UInt16) -> StaticString {
    switch status {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 103: "Early Hints"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 203: "Non-Authoritative Information"
    case 204: "No Content"
    case 205: "Reset Content"
    case 206: "Partial Content"
    case 207: "Multi-Status"
    case 300: "Multiple Choices"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400...499: clientErrorPhrase(status)
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    case 508: "Loop Detected"
    case 511: "Network Authentication Required"
    default: ""
    }
}

private func clientErrorPhrase(_ status: UInt16) -> StaticString {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 402: "Payment Required"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 407: "Proxy Authentication Required"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 423: "Locked"
    case 424: "Failed Dependency"
    case 425: "Too Early"
    case 426: "Upgrade Required"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 451: "Unavailable For Legal Reasons"
    default: ""
    }
}
