// What checkpoints prove, and the result of a verification.
// Domain: cold

import CryoIO

extension AuditVerifier {
    // MARK: Signatures

    mutating func heed(_ control: ControlLine, _ before: ChainHead?, _ here: Place, _ own: ChainHead) {
        result.isClosed = control.word == "closed"
        switch control.word {
        case "opened":
            if let key = control.key { keyOfFile = CheckpointVerifier(publicKey: key) }
        case "closed", "checkpoint": checkSignature(control, before, here, own)
        case "lost": note("\(here.file):\(here.line): the gateway says that \(control.lostRecords ?? 0) exchanges before have no record")
        default: break
        }
    }

    private mutating func checkSignature(_ control: ControlLine, _ before: ChainHead?, _ here: Place, _ own: ChainHead) {
        let numbers = own.sequence...own.sequence
        guard let covered = control.covered else { return add(.forged, here, numbers, "it names no head") }
        // What it says of the chain holds also without a signature.
        if let before, before.sequence == own.sequence &- 1, before != covered {
            return add(.forged, here, numbers, "it names another head than the chain has; records \(result.signedUpTo + 1) on were changed")
        }
        guard let signature = control.signature else { return }
        guard let key = demands.key ?? keyOfFile else { return }
        guard key.accepts(signature, of: AuditControl.signedText(control.word, covered)) else {
            let range = (result.signedUpTo &+ 1)...max(result.signedUpTo &+ 1, covered.sequence)
            return add(.forged, here, range, "the signature of the \(control.word) record \(own.sequence) does not fit")
        }
        result.goodSignatures += 1
        result.signedUpTo = max(result.signedUpTo, covered.sequence)
    }

    // MARK: The end

    package mutating func finish() -> AuditVerification {
        for line in unchained { add(.inserted, line.place, nil, "it carries no chain") }
        unchained.removeAll()
        for gap in gaps {
            let detail = gap.kind == .truncated ? "missing at the end of what was written then" : "missing before this line"
            addFinding(
                AuditFinding(kind: gap.kind, file: gap.file, line: gap.line, sequences: gap.sequences, id: nil, detail: detail))
        }
        result.head = head ?? ChainHead()
        checkDemands()
        return result
    }

    private mutating func checkDemands() {
        let here = Place(file: file, line: 0)
        guard let head else {
            return add(.unchained, here, nil, plainLines > 0 ? "none of \(plainLines) lines carries a chain" : "there are no records")
        }
        if demands.key != nil {
            if result.goodSignatures == 0 {
                add(.unsigned, here, nil, "no checkpoint is signed with this key")
            } else if result.signedUpTo + 1 < head.sequence {
                note("the \(head.sequence - result.signedUpTo) records after \(result.signedUpTo) have no signature yet")
            }
        } else if keyOfFile != nil {
            note("signatures were held against the key the file itself names: anybody can write one; --public-key makes sure")
        } else {
            note("nothing is signed: that all of it was written anew can't be told, unless an earlier head is known (--head)")
        }
        if let wanted = demands.head, !isHeadSeen {
            if wanted.sequence > head.sequence {
                add(.truncated, place, (head.sequence + 1)...wanted.sequence, "missing at the end")
            } else {
                add(.forged, here, wanted.sequence...wanted.sequence, "the chain does not have this head; it was written anew")
            }
        }
        if !result.isClosed {
            if demands.mustBeClosed {
                add(.truncated, place, nil, "the last record does not say that the file was closed")
            } else {
                note("not closed: the gateway is running or was killed, or the end was cut off")
            }
        }
    }

    // MARK: Findings

    mutating func add(_ kind: AuditFinding.Kind, _ place: Place, _ sequences: ClosedRange<UInt64>?, _ detail: String) {
        addFinding(
            AuditFinding(kind: kind, file: place.file, line: place.line, sequences: sequences, id: place.id, detail: detail))
    }

    private mutating func addFinding(_ finding: AuditFinding) {
        if result.findings.count < AuditVerification.findingsMax { result.findings.append(finding) } else { result.furtherFindings += 1 }
    }

    mutating func note(_ text: String) {
        if result.notes.count < AuditVerification.findingsMax { result.notes.append(text) }
    }

    /// The id of an exchange stands near the beginning of its record.
    static func id(in line: UnsafeRawBufferPointer) -> String? {
        guard let start = line.end(ofFirst: "\"id\":\"", within: 200) else { return nil }
        let id = line[start...].prefix(64).prefix { $0 != 0x22 }
        return String(decoding: id, as: UTF8.self)
    }

    // MARK: Files

    /// Verifies files in the order of their records, whatever the order given.
    package static func verify(_ paths: [String], _ demands: Demands) throws(AuditError) -> AuditVerification {
        guard var verifier = AuditVerifier(demands) else { throw AuditError("OpenSSL has no SHA-256") }
        let ordered = try inOrder(paths)
        for (index, path) in ordered.enumerated() {
            do throws(SystemError) {
                try verifier.take(fileAt: path, isLast: index == ordered.count - 1)
            } catch {
                throw AuditError("can't read \(path): \(error)")
            }
        }
        return verifier.finish()
    }

    private mutating func take(fileAt path: String, isLast: Bool) throws(SystemError) {
        let reader = try ChainReader(path: path)
        beginFile(path)
        while let line = try reader.line() {
            switch line {
            case .whole(let bytes): take(bytes, number: reader.number)
            case .torn(let bytes): takeTorn(bytes, number: reader.number, isLastFile: isLast)
            case .tooLong: takeTooLong(number: reader.number)
            }
        }
    }

    /// By the number of the first record in each.
    private static func inOrder(_ paths: [String]) throws(AuditError) -> [String] {
        var firsts: [(path: String, sequence: UInt64)] = []
        for path in paths {
            do throws(SystemError) {
                firsts.append((path, try firstSequence(in: path)))
            } catch {
                throw AuditError("can't read \(path): \(error)")
            }
        }
        let sorted = firsts.enumerated().sorted { ($0.element.sequence, $0.offset) < ($1.element.sequence, $1.offset) }
        return sorted.map(\.element.path)
    }

    /// How far a file is searched for its first record.
    private static let leadingLinesMax = 1000

    private static func firstSequence(in path: String) throws(SystemError) -> UInt64 {
        let reader = try ChainReader(path: path)
        for _ in 0..<leadingLinesMax {
            guard let line = try reader.line() else { break }
            if case .whole(let bytes) = line, let chained = ChainLine(bytes) { return chained.head.sequence }
        }
        return 0
    }

    /// The rotated files beside one, and itself.
    package static func family(of path: String) -> [String] {
        let names = AuditNames(path)
        return names.unique.map(names.path(of:)) + [path]
    }
}
