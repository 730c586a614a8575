// The fields by which this gateway names itself and its client to the upstream: Via (RFC 9110 §7.6.3) and X-Forwarded-*.
// Domain: pure

extension FieldSection {
    /// Appends `element` (not from this section) to the list field `name` (lower case). Several lines of that name become one, in order: a server that reads only
    /// the first line must not miss the last element.
    package mutating func appendListElement(_ name: StaticString, _ element: UnsafeRawBufferPointer) {
        guard let place = firstIndex(of: name) else { return append(name: name.rawBytes, value: element) }
        var combined: [UInt8] = []
        var next: Int? = place
        while let index = next {
            if lines[index].valueCount > 0 {
                if !combined.isEmpty { combined.append(contentsOf: [0x2C, 0x20]) }
                withValue(at: index) { combined.append(contentsOf: $0) }
            }
            if index != place { remove(at: index) }
            next = firstIndex(of: name, from: index + 1)
        }
        if !combined.isEmpty { combined.append(contentsOf: [0x2C, 0x20]) }
        combined.append(contentsOf: element)
        setValue(at: place, combined)
    }

    /// Appends a line with the value of line `index`.
    @inline(__always)
    package mutating func appendCopy(_ name: StaticString, ofLine index: Int) {
        let value = lines[index].value
        let mark = NameMark(name)
        makeRoom(bytes: name.utf8CodeUnitCount + value.count + 4, lines: 1)
        marks.insert(mark)
        // Not nil: there is a line.
        let memory = block.unsafelyUnwrapped.memory
        memory.add(memory.write(name: name.rawBytes, value: memory.slice(value), mark: mark))
    }

    /// Replaces every line of that name by one. `value` must not point into this section.
    package mutating func replace(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        remove(name)
        append(name: name.rawBytes, value: value)
    }
}

/// Adds this gateway to Via under its pseudonym. `minorVersion` is that of the message received; nil means HTTP/2.
package func appendVia(_ fields: inout FieldSection, minorVersion: UInt8?, pseudonym: [UInt8]) {
    let version: StaticString
    switch minorVersion {
    case 0: version = "1.0 "
    case nil: version = "2 "
    default: version = "1.1 "
    }
    // The usual case.
    if !fields.mayContain("via") { return pseudonym.withUnsafeBytes { fields.appendInPlace("via", version.rawBytes, $0) } }
    withUnsafeTemporaryAllocation(byteCount: version.utf8CodeUnitCount + pseudonym.count, alignment: 1) { element in
        element.copyMemory(from: version.rawBytes)
        UnsafeMutableRawBufferPointer(rebasing: element[version.utf8CodeUnitCount...]).copyBytes(from: pseudonym)
        fields.appendListElement("via", UnsafeRawBufferPointer(element))
    }
}

/// How often Via names that pseudonym as a recipient: how often the message has been here (RFC 9110 §7.6.3).
package func countVia(_ fields: FieldSection, pseudonym: [UInt8]) -> Int {
    guard fields.mayContain("via") else { return 0 }
    var count = 0
    for index in fields.indices(of: "via") {
        fields.withValue(at: index) { value in
            forEachListElement(value) { element in
                // received-protocol, whitespace, received-by, perhaps a comment.
                guard var start = element.firstIndex(where: { $0 == 0x20 || $0 == 0x09 }) else { return }
                while start < element.count, element[start] == 0x20 || element[start] == 0x09 { start += 1 }
                let name = element[start...].prefix { $0 != 0x20 && $0 != 0x09 && $0 != 0x28 }
                if name.elementsEqual(pseudonym) { count += 1 }
            }
        }
    }
    return count
}

/// What the upstream is told about the client.
package struct ForwardingFacts {
    /// The peer's address, without port and brackets. Must not point into the section that is changed.
    package let clientAddress: UnsafeRawBufferPointer
    /// Whether the client's connection is TLS.
    package let isSecure: Bool
    /// Whether the peer is a listed proxy, whose own claims are kept.
    package let isTrusted: Bool

    package init(clientAddress: UnsafeRawBufferPointer, isSecure: Bool, isTrusted: Bool) {
        self.clientAddress = clientAddress
        self.isSecure = isSecure
        self.isTrusted = isTrusted
    }
}

/// Sets X-Forwarded-For, -Proto and -Host. From a peer that is not trusted every claim is replaced or removed; from a trusted one the address
/// is appended on the right, also to Forwarded (RFC 7239) where there is one, and existing Proto and Host stay. One line per name in every case. X-Forwarded-Host is the Host line as the client
/// sent it, so this runs before Host is replaced.
package func setForwardingFields(_ fields: inout FieldSection, _ facts: ForwardingFacts) {
    let scheme: StaticString = facts.isSecure ? "https" : "http"
    if !facts.isTrusted {
        fields.remove("forwarded")
        fields.remove("x-real-ip")
        fields.remove("x-forwarded-for")
        fields.remove("x-forwarded-proto")
        fields.remove("x-forwarded-host")
        fields.remove("x-forwarded-port")
        fields.remove("x-forwarded-server")
        fields.appendInPlace("x-forwarded-for", facts.clientAddress)
        fields.appendInPlace("x-forwarded-proto", scheme.rawBytes)
        if let host = fields.firstIndex(of: "host") { fields.appendCopy("x-forwarded-host", ofLine: host) }
        return
    }
    fields.appendListElement("x-forwarded-for", facts.clientAddress)
    if fields.contains("forwarded") {
        let element = forwardedElement(facts.clientAddress, scheme)
        element.withUnsafeBytes { fields.appendListElement("forwarded", $0) }
    }
    if fields.count(of: "x-forwarded-proto") != 1 { fields.replace("x-forwarded-proto", scheme.rawBytes) }
    if fields.count(of: "x-forwarded-host") != 1 {
        fields.remove("x-forwarded-host")
        if let host = fields.firstIndex(of: "host") { fields.appendCopy("x-forwarded-host", ofLine: host) }
    }
}

/// RFC 7239 §6: IPv6 in brackets and quotes, and `unknown` for a peer without an address.
private func forwardedElement(_ address: UnsafeRawBufferPointer, _ scheme: StaticString) -> [UInt8] {
    var element = Array("for=".utf8)
    if address.contains(0x3A) {
        element.append(contentsOf: [0x22, 0x5B])
        element.append(contentsOf: address)
        element.append(contentsOf: [0x5D, 0x22])
    } else if address.contains(0x2E) {
        element.append(contentsOf: address)
    } else {
        element.append(contentsOf: "unknown".utf8)
    }
    element.append(contentsOf: ";proto=".utf8)
    element.append(contentsOf: scheme.rawBytes)
    return element
}
