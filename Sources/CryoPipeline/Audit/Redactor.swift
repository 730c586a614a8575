// Takes secrets out of everything that is written: by name, and by the live values of every token (design §10).
// Domain: shared (immutable; the live values come from the credential stores)

import CryoHTTP
import CryoJSON

package final class Redactor: Sendable {
    private let headers: [[UInt8]]
    private let json: [[UInt8]]
    private let jsonBytesMax: Int
    private let query: [[UInt8]]
    private let form: [[UInt8]]
    private let paths: JSONPathRedaction
    /// Cookies whose values are hidden; empty: Cookie and Set-Cookie are hidden whole.
    private let cookies: [[UInt8]]
    /// What stands in the place of a value; nil: `***`.
    private let markOf: (@Sendable (UnsafeRawBufferPointer) -> [UInt8])?
    let credentials: [CredentialStore]
    /// Of secrets that do not change.
    let fixedNeedles: NeedleSet
    static let mask: StaticString = "***"

    package init(
        _ settings: RedactionSettings, credentials: [CredentialStore], secrets: [Secret] = [],
        markOf: (@Sendable (UnsafeRawBufferPointer) -> [UInt8])? = nil
    ) {
        self.markOf = markOf
        func names(_ place: InjectSettings.Place) -> [String] {
            credentials.map(\.settings.inject).filter { $0.place == place }.map(\.name)
        }
        headers = (settings.headers + names(.header)).map { Array($0.lowercased().utf8) }
        json = settings.json.map { Array($0.lowercased().utf8) }
        jsonBytesMax = json.map(\.count).max() ?? 0
        query = (settings.query + names(.query)).map { Array($0.lowercased().utf8) }
        form = settings.form.map { Array($0.lowercased().utf8) }
        paths = JSONPathRedaction(settings.json)
        let named = settings.cookies.map { Array($0.lowercased().utf8) }
        cookies = named.isEmpty ? [] : named + names(.cookie).map { Array($0.lowercased().utf8) }
        self.credentials = credentials
        fixedNeedles = Self.needles(of: secrets)
    }

    func hidesHeader(_ name: UnsafeRawBufferPointer) -> Bool { contains(headers, name) }

    private func contains(_ names: [[UInt8]], _ name: UnsafeRawBufferPointer) -> Bool {
        names.contains { candidate in candidate.withUnsafeBytes { equalsIgnoringCase(name, lowercased: $0) } }
    }

    /// What stands in the place of a hidden value.
    func mark(of value: UnsafeRawBufferPointer) -> [UInt8] { markOf?(value) ?? Array(Self.mask.rawBytes) }

    // MARK: Headers

    /// nil: the value may be seen. A scheme before credentials, as in `Bearer …`, is kept where values get marks of their own.
    func redactedHeader(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> [UInt8]? {
        guard hidesHeader(name) else { return nil }
        let cookie: StaticString = "cookie"
        let setCookie: StaticString = "set-cookie"
        if !cookies.isEmpty {
            if equalsIgnoringCase(name, lowercased: cookie.rawBytes) { return redactCookies(value, all: true) }
            if equalsIgnoringCase(name, lowercased: setCookie.rawBytes) { return redactCookies(value, all: false) }
        }
        guard markOf != nil else { return Array(Self.mask.rawBytes) }
        let authorization: StaticString = "authorization"
        guard name.count >= authorization.utf8CodeUnitCount, let space = value.firstIndex(of: 0x20) else { return mark(of: value) }
        return Array(value[...space]) + mark(of: UnsafeRawBufferPointer(rebasing: value[(space + 1)...]))
    }

    /// `a=1; b=2` with the values of the named ones replaced. In a Set-Cookie only the first pair is a cookie.
    private func redactCookies(_ value: UnsafeRawBufferPointer, all: Bool) -> [UInt8] {
        var redacted: [UInt8] = []
        var start = 0
        var isFirst = true
        while start <= value.count {
            let end = value[start...].firstIndex(of: 0x3B) ?? value.count
            let pair = value[start..<end]
            let space = pair.prefix { $0 == 0x20 }.count
            let name = UnsafeRawBufferPointer(rebasing: pair.dropFirst(space).prefix { $0 != 0x3D })
            let valueStart = start + space + name.count + 1
            if isFirst || all, valueStart <= end, contains(cookies, name) {
                redacted.append(contentsOf: value[start..<valueStart])
                redacted.append(contentsOf: mark(of: UnsafeRawBufferPointer(rebasing: value[valueStart..<end])))
            } else {
                redacted.append(contentsOf: pair)
            }
            if end == value.count { break }
            redacted.append(0x3B)
            start = end + 1
            isFirst = false
        }
        return redacted
    }

    // MARK: Names

    /// False for a target without a query, which has nothing to hide.
    func needsTargetRedaction(_ target: UnsafeRawBufferPointer) -> Bool { target.contains(0x3F) }

    /// A target with the values of hidden query keys replaced.
    package func redactTarget(_ target: UnsafeRawBufferPointer) -> [UInt8] {
        guard let mark = target.firstIndex(of: 0x3F) else { return Array(target) }
        var redacted = Array(target[...mark])
        redactPairs(UnsafeRawBufferPointer(rebasing: target[(mark + 1)...]), isForm: false, into: &redacted)
        return redacted
    }

    /// A form's fields go by the names of JSON members as well: it carries the same secrets.
    private func redactPairs(_ pairs: UnsafeRawBufferPointer, isForm: Bool, into redacted: inout [UInt8]) {
        var start = 0
        while start <= pairs.count {
            let end = pairs[start...].firstIndex(of: 0x26) ?? pairs.count
            let pair = pairs[start..<end]
            let name = UnsafeRawBufferPointer(rebasing: pair.prefix { $0 != 0x3D })
            if name.count < pair.count, hides(name, isForm: isForm) {
                redacted.append(contentsOf: name)
                redacted.append(0x3D)
                redacted.append(contentsOf: mark(of: UnsafeRawBufferPointer(rebasing: pair.dropFirst(name.count + 1))))
            } else {
                redacted.append(contentsOf: pair)
            }
            if end == pairs.count { return }
            redacted.append(0x26)
            start = end + 1
        }
    }

    /// A key may be percent-encoded; the server will decode it before it takes the secret from it.
    private func hides(_ name: UnsafeRawBufferPointer, isForm: Bool) -> Bool {
        if contains(query, name) || (isForm && (contains(json, name) || contains(form, name))) { return true }
        guard name.contains(0x25) else { return false }
        let decoded = percentDecoded(name, plusIsSpace: false)
        return decoded.withUnsafeBytes { contains(query, $0) || (isForm && (contains(json, $0) || contains(form, $0))) }
    }

    /// A body with the string and number values of hidden JSON members, and of hidden form fields, replaced. Works on
    /// broken JSON too: it looks for `"name"` and a colon, wherever they are.
    package func redactBody(_ body: UnsafeRawBufferPointer) -> [UInt8] {
        if paths.isEmpty { return redactNames(body) }
        let values = paths.values(in: body)
        if values.isEmpty { return redactNames(body) }
        var redacted: [UInt8] = []
        var start = 0
        for value in values {
            redacted.append(contentsOf: body[start..<value.lowerBound])
            appendMark(of: value, in: body, to: &redacted)
            start = value.upperBound
        }
        redacted.append(contentsOf: body[start...])
        return redacted.withUnsafeBytes { redactNames($0) }
    }

    /// As a string, whatever the value was. The mark of a string is that of what stands between its quotes.
    private func appendMark(of value: Range<Int>, in body: UnsafeRawBufferPointer, to redacted: inout [UInt8]) {
        var inner = value
        if inner.count > 1, body[inner.lowerBound] == 0x22 {
            inner = (inner.lowerBound + 1)..<(body[inner.upperBound - 1] == 0x22 ? inner.upperBound - 1 : inner.upperBound)
        }
        redacted.append(0x22)
        redacted.append(contentsOf: mark(of: UnsafeRawBufferPointer(rebasing: body[inner])))
        redacted.append(0x22)
    }

    private func redactNames(_ body: UnsafeRawBufferPointer) -> [UInt8] {
        var redacted: [UInt8] = []
        redacted.reserveCapacity(body.count)
        if let first = body.first(where: { $0 > 0x20 }), first != 0x7B, first != 0x5B, body.contains(0x3D) {
            redactPairs(body, isForm: true, into: &redacted)
            return redacted
        }
        var copied = 0
        var index = ByteNeedle.place(of: 0x22, in: body, from: 0, to: body.count)
        while index < body.count {
            // Every quote may open a name: where a stray quote turned strings inside out, the names are found all the same.
            if let end = nameEnd(body, from: index), contains(json, UnsafeRawBufferPointer(rebasing: body[(index + 1)..<end])),
                let value = valueRange(body, after: end + 1)
            {
                redacted.append(contentsOf: body[copied..<value.lowerBound])
                appendMark(of: value, in: body, to: &redacted)
                copied = value.upperBound
                index = copied
            } else {
                index += 1
            }
            index = ByteNeedle.place(of: 0x22, in: body, from: index, to: body.count)
        }
        redacted.append(contentsOf: body[copied...])
        return redacted
    }

    /// The next quote, where one is near enough to end a hidden name.
    private func nameEnd(_ body: UnsafeRawBufferPointer, from start: Int) -> Int? {
        let end = min(body.count, start + 2 + jsonBytesMax)
        guard start + 1 < end else { return nil }
        return body[(start + 1)..<end].firstIndex(of: 0x22)
    }

    /// The closing quote of the string that opens at `start`.
    private func stringEnd(_ body: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start + 1
        while index < body.count {
            if body[index] == 0x5C {
                index += 2
            } else if body[index] == 0x22 {
                return index
            } else {
                index += 1
            }
        }
        return nil
    }

    /// The scalar after a colon; nil for objects, arrays and values of other names. An unclosed string reaches to the end.
    private func valueRange(_ body: UnsafeRawBufferPointer, after start: Int) -> Range<Int>? {
        var index = start
        func skipSpace() { while index < body.count, body[index] <= 0x20 { index += 1 } }
        skipSpace()
        guard index < body.count, body[index] == 0x3A else { return nil }
        index += 1
        skipSpace()
        guard index < body.count, body[index] != 0x7B, body[index] != 0x5B else { return nil }
        let lower = index
        if body[index] == 0x22 { return lower..<(stringEnd(body, from: index).map { $0 + 1 } ?? body.count) }
        while index < body.count, body[index] != 0x2C, body[index] != 0x7D, body[index] != 0x5D { index += 1 }
        return lower..<index
    }
}
