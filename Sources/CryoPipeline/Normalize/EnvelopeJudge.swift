// Judges a complete 2xx body by a policy: success, business failure, or not JSON at all (ledger §J).
// Domain: worker (the scanner belongs to one)

package import CryoJSON

/// What a body turned out to be.
package enum EnvelopeVerdict {
    /// Pass these bytes on. `isPlainText`: they are the content of a JSON string.
    case accepted(EnvelopeView)
    case rejected(BusinessFailure)
    /// With the reason, for people.
    case notJSON(StaticString)
}

package enum EnvelopeView {
    case whole
    /// A part of the body, byte for byte.
    case slice(Range<Int>)
    /// The unescaped content of a string.
    case text([UInt8])
}

package struct BusinessFailure {
    /// The code as raw JSON and as text without quotes; nil when there is none.
    package var rawCode: [UInt8]?
    package var codeText: [UInt8]?
    package var integerCode: Int?
    /// nil: no candidate was a non-empty string.
    package var message: [UInt8]?
}

package struct EnvelopeJudge {
    private let scanner: JSONScanner

    package init(scanner: JSONScanner) { self.scanner = scanner }

    /// Judges an array, which gets the padding the scanner needs for the time of the call.
    package func judge(padding body: inout [UInt8], by policy: PolicyPlan) -> EnvelopeVerdict {
        Self.withPadding(&body) { judge($0, by: policy) }
    }

    private static func withPadding<R>(_ body: inout [UInt8], _ work: (UnsafeRawBufferPointer) -> R) -> R {
        let count = body.count
        body.append(addingCapacity: JSONScanner.padding) { $0.append(repeating: 0, count: JSONScanner.padding) }
        defer { body.removeLast(JSONScanner.padding) }
        return body.withUnsafeBytes { work(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// `body` must have `JSONScanner.padding` readable bytes beyond its end.
    package func judge(_ body: UnsafeRawBufferPointer, by policy: PolicyPlan) -> EnvelopeVerdict {
        switch scanner.scan(body, paths: policy.paths) {
        case .scanned: break
        case .notJSON: return .notJSON("the body is not json by rfc 8259")
        case .tooDeep: return .notJSON("the body is nested too deep")
        case .tooLarge, .noMemory: return .notJSON("the body needs too much memory")
        }
        let reader = JSONValueReader(body)
        if policy.success?.holds(scanner, reader) ?? true { return .accepted(view(reader, policy)) }
        return .rejected(failure(reader, policy))
    }

    /// The first non-empty text the body of a non-2xx answer has at one of the paths.
    package func errorMessage(padding body: inout [UInt8], paths: JSONPathSet) -> [UInt8]? {
        Self.withPadding(&body) { body in
            guard scanner.scan(body, paths: paths) == .scanned else { return nil }
            return message(JSONValueReader(body), at: paths.paths.indices)
        }
    }

    /// The first non-empty string among the members found for these paths.
    private func message(_ reader: JSONValueReader, at indices: Range<Int>) -> [UInt8]? {
        for index in indices {
            let slice = scanner.slice(at: index)
            if reader.isNonEmptyString(slice) { return reader.stringBytes(slice) }
        }
        return nil
    }

    private func view(_ reader: JSONValueReader, _ policy: PolicyPlan) -> EnvelopeView {
        guard policy.settings.view == .data, let index = policy.dataIndex else { return .whole }
        let slice = scanner.slice(at: index)
        switch slice.kind {
        case .missing, .null: return .whole
        case .string: return .text(reader.stringBytes(slice))
        case .object, .array, .number, .bool: return .slice(slice.range)
        }
    }

    private func failure(_ reader: JSONValueReader, _ policy: PolicyPlan) -> BusinessFailure {
        var failure = BusinessFailure()
        if let index = policy.codeIndex {
            let slice = scanner.slice(at: index)
            switch slice.kind {
            case .number:
                failure.rawCode = Array(reader.raw(slice))
                failure.codeText = failure.rawCode
            case .string where reader.isNonEmptyString(slice):
                failure.rawCode = Array(reader.raw(slice))
                failure.codeText = reader.stringBytes(slice)
            default: break
            }
            failure.integerCode = reader.integer(slice).flatMap { Int(exactly: $0) }
        }
        failure.message = message(reader, at: policy.messageIndices)
        return failure
    }
}
