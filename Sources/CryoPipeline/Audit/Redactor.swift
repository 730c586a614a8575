// Takes secrets out of everything that is written: by name, and by the live values of every token (design §10).
// Domain: shared (immutable; the live values come from the credential stores)

import CryoHTTP

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
    private let credentials: [CredentialStore]
    /// Of secrets that do not change.
    private let fixedNeedles: [[UInt8]]
    private static let mask: StaticString = "***"
    /// Shorter values are not searched for: they would turn up by chance everywhere.
    package static let secretBytesMin = 6

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
        fixedNeedles = secrets.flatMap(Self.needles(of:))
    }

    func hidesHeader(_ name: UnsafeRawBufferPointer) -> Bool { contains(headers, name) }

    private func contains(_ names: [[UInt8]], _ name: UnsafeRawBufferPointer) -> Bool {
        names.contains { candidate in candidate.withUnsafeBytes { equalsIgnoringCase(name, lowercased: $0) } }
    }

    // MARK: Live values

    /// Replaces every live secret in `bytes`, raw, percent-encoded, base64-encoded or JSON-escaped, by `***`.
    package func scrub(_ bytes: inout [UInt8]) {
        for needle in fixedNeedles where needle.count <= bytes.count { replace(needle, in: &bytes) }
        for store in credentials {
            for needle in store.needles() where needle.count <= bytes.count { replace(needle, in: &bytes) }
        }
    }

    /// Whether there is anything to scrub, told without a copy.
    func finds(in bytes: UnsafeRawBufferPointer) -> Bool {
        for needle in fixedNeedles where Self.holds(bytes, needle) { return true }
        for store in credentials {
            for needle in store.needles() where Self.holds(bytes, needle) { return true }
        }
        return false
    }

    private static func holds(_ bytes: UnsafeRawBufferPointer, _ needle: [UInt8]) -> Bool {
        !needle.isEmpty && needle.count <= bytes.count && needle.withUnsafeBytes { find($0, in: bytes, from: 0) } != nil
    }

    /// As `scrub`, for bytes that may have been cut off: the beginning of a secret at their end is replaced too.
    package func scrubCut(_ bytes: inout [UInt8]) {
        scrub(&bytes)
        var longest = 0
        for needle in fixedNeedles { longest = max(longest, Self.cutLength(of: needle, in: bytes, above: longest)) }
        for store in credentials {
            for needle in store.needles() { longest = max(longest, Self.cutLength(of: needle, in: bytes, above: longest)) }
        }
        // Of a part no mark would tell anything.
        if longest > 0 { bytes.replaceSubrange((bytes.count - longest)..., with: Self.mask.rawBytes) }
    }

    /// How much of the beginning of `needle` the bytes end with; 0 when too little to tell anything.
    private static func cutLength(of needle: [UInt8], in bytes: [UInt8], above longest: Int) -> Int {
        var count = min(needle.count - 1, bytes.count)
        while count > longest, count >= cutBytesMin, !bytes.suffix(count).elementsEqual(needle.prefix(count)) { count -= 1 }
        return count >= cutBytesMin ? count : 0
    }

    /// Fewer bytes of a secret tell nothing.
    private static let cutBytesMin = 4

    /// The spellings in which a secret is looked for.
    package static func needles(of secret: Secret) -> [[UInt8]] {
        secret.withBytes { raw in
            guard raw.count >= secretBytesMin else { return [] }
            var needles = [raw]
            let encoded = percentEncoded(raw)
            if encoded != raw {
                needles.append(encoded)
                // Some write the digits small.
                let small = lowercasedEscapes(encoded)
                if small != encoded { needles.append(small) }
            }
            // The last group depends on what follows in a longer text; without it the rest still matches.
            let base64 = raw.withUnsafeBytes { Base64.encode($0) }
            needles.append(Array(base64.prefix(raw.count / 3 * 4)))
            var escaped: [UInt8] = []
            for byte in raw {
                if byte == 0x22 || byte == 0x5C { escaped.append(0x5C) }
                escaped.append(byte)
            }
            if escaped != raw { needles.append(escaped) }
            return needles
        }
    }

    private static func lowercasedEscapes(_ encoded: [UInt8]) -> [UInt8] {
        var small = encoded
        for index in encoded.indices where encoded[index] == 0x25 {
            for digit in [index + 1, index + 2] where digit < small.count && small[digit] &- 0x41 < 6 { small[digit] |= 0x20 }
        }
        return small
    }

    private func replace(_ needle: [UInt8], in bytes: inout [UInt8]) {
        var searchStart = 0
        while let found = Self.find(needle, in: bytes, from: searchStart) {
            let mark = needle.withUnsafeBytes { self.mark(of: $0) }
            bytes.replaceSubrange(found..<found + needle.count, with: mark)
            searchStart = found + mark.count
        }
    }

    /// Whether a live secret is in the bytes, in any of its spellings.
    func holdsSecret(_ bytes: UnsafeRawBufferPointer) -> Bool {
        func isIn(_ needle: [UInt8]) -> Bool {
            bytes.count >= needle.count && !needle.isEmpty && needle.withUnsafeBytes { Self.find($0, in: bytes, from: 0) != nil }
        }
        return fixedNeedles.contains(where: isIn) || credentials.contains { $0.needles().contains(where: isIn) }
    }

    /// One byte less than the longest spelling of a secret: so much of the end of a piece may be the beginning of one.
    var overlap: Int {
        let longest = credentials.map { $0.needles().map(\.count).max() ?? 0 }.max() ?? 0
        return max(0, max(longest, fixedNeedles.map(\.count).max() ?? 0) - 1)
    }

    /// How many bytes at the end may be the beginning of a secret that goes on in what follows.
    func beginningOfSecret(in bytes: UnsafeRawBufferPointer) -> Int {
        var longest = 0
        func look(_ needle: [UInt8]) {
            needle.withUnsafeBytes { needle in
                var count = min(needle.count - 1, bytes.count)
                while count > longest, !Self.isBeginning(of: needle, bytes, count) { count -= 1 }
                longest = max(longest, count)
            }
        }
        fixedNeedles.forEach(look)
        for store in credentials { store.needles().forEach(look) }
        return longest
    }

    private static func isBeginning(of needle: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer, _ count: Int) -> Bool {
        let start = bytes.count - count
        for offset in 0..<count where bytes[start + offset] != needle[offset] { return false }
        return true
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

    private static func find(_ needle: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard !needle.isEmpty, bytes.count - start >= needle.count else { return nil }
        return bytes.withUnsafeBytes { bytes in needle.withUnsafeBytes { find($0, in: bytes, from: start) } }
    }

    /// Compares the first and the last byte of the needle at sixteen places at a time; only where both fit it looks closer. Each audit line
    /// is searched for every live secret, so this is a part of every exchange.
    private static func find(_ needle: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        let distance = needle.count - 1
        let last = bytes.count - needle.count
        let head = SIMD16<UInt8>(repeating: needle[0])
        let tail = SIMD16<UInt8>(repeating: needle[distance])
        var index = start
        while index + 15 <= last {
            let heads = bytes.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self) .== head
            let tails = bytes.loadUnaligned(fromByteOffset: index + distance, as: SIMD16<UInt8>.self) .== tail
            if any(heads .& tails) {
                for place in index..<index + 16 where matches(needle, bytes, at: place) { return place }
            }
            index += 16
        }
        while index <= last {
            if matches(needle, bytes, at: index) { return index }
            index += 1
        }
        return nil
    }

    private static func matches(_ needle: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer, at index: Int) -> Bool {
        for offset in 0..<needle.count where bytes[index + offset] != needle[offset] { return false }
        return true
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
        var index = 0
        while index < body.count {
            // Every quote may open a name: where a stray quote turned strings inside out, the names are found all the same.
            guard body[index] == 0x22, let end = nameEnd(body, from: index),
                contains(json, UnsafeRawBufferPointer(rebasing: body[(index + 1)..<end])), let value = valueRange(body, after: end + 1)
            else {
                redacted.append(body[index])
                index += 1
                continue
            }
            redacted.append(contentsOf: body[index..<value.lowerBound])
            appendMark(of: value, in: body, to: &redacted)
            index = value.upperBound
        }
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
