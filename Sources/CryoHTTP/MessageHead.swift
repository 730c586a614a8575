// The heads of requests and responses, and how their bodies are delimited.
// Domain: pure

/// How a message body ends (RFC 9112 §6.3).
@usableFromInline
package enum BodyFraming: Sendable, Equatable {
    case none
    case length(UInt64)
    case chunked
    /// Responses only: the body ends when the connection closes.
    case untilClose

    /// There is no body. Cheaper than a comparison, which other modules can't look into.
    @inlinable
    package var isNone: Bool { if case .none = self { true } else { false } }
}

/// A parsed request head. The raw head is `fields.bytes`; method and target are ranges in it. One object that never changes, since
/// it is handed from step to step.
@usableFromInline
package final class RequestHead: Sendable {
    @usableFromInline package let fields: FieldSection
    /// Where method and request-target lie in `fields.bytes`.
    @usableFromInline package let method: Range<Int>
    @usableFromInline package let target: Range<Int>
    /// The target's form, with ranges in `fields.bytes`. Never nil for a head the parser made.
    @usableFromInline package let targetForm: TargetForm?
    /// The value of the first Host line, in `fields.bytes`; nil: there is none.
    @usableFromInline package let host: Range<Int>?
    /// 0 or 1: the minor version of HTTP/1.x.
    @usableFromInline package let minorVersion: UInt8
    @usableFromInline package let framing: BodyFraming
    /// Whether the client allows the connection to stay open after this exchange (RFC 9112 §9.3).
    @usableFromInline package let keepsAlive: Bool
    /// `Expect: 100-continue` was sent (RFC 9110 §10.1.1).
    @usableFromInline package let expectsContinue: Bool

    package convenience init(
        fields: FieldSection, method: Range<Int>, target: Range<Int>, minorVersion: UInt8, framing: BodyFraming, keepsAlive: Bool,
        expectsContinue: Bool
    ) {
        let form = fields.bytes.withUnsafeBytes {
            parseTarget(UnsafeRawBufferPointer(rebasing: $0[target]), method: UnsafeRawBufferPointer(rebasing: $0[method]))
        }
        self.init(
            fields: fields, method: method, target: target, targetForm: form?.moved(by: target.lowerBound),
            host: fields.firstIndex(of: "host").map { fields.lines[$0].value }, minorVersion: minorVersion, framing: framing,
            keepsAlive: keepsAlive, expectsContinue: expectsContinue)
    }

    init(
        fields: FieldSection, method: Range<Int>, target: Range<Int>, targetForm: TargetForm?, host: Range<Int>?, minorVersion: UInt8,
        framing: BodyFraming, keepsAlive: Bool, expectsContinue: Bool
    ) {
        self.fields = fields
        self.method = method
        self.target = target
        self.targetForm = targetForm
        self.host = host
        self.minorVersion = minorVersion
        self.framing = framing
        self.keepsAlive = keepsAlive
        self.expectsContinue = expectsContinue
    }

    /// True when the method is exactly `name` (methods are case-sensitive, RFC 9110 §9.1).
    @inlinable @inline(__always)
    package func isMethod(_ name: StaticString) -> Bool {
        guard method.count == name.utf8CodeUnitCount else { return false }
        return fields.bytes.withUnsafeBytes { equals(UnsafeRawBufferPointer(rebasing: $0[method]), name) }
    }
}

/// A response head as the upstream sent it.
@usableFromInline
package struct ResponseHead: Sendable {
    @usableFromInline package var status: UInt16
    @usableFromInline package var fields: FieldSection

    package init(status: UInt16 = 0, fields: FieldSection = FieldSection()) {
        self.status = status
        self.fields = fields
    }
}
